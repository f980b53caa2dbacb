/*
 * What the nodes of a timeline refer to: it counts as long as an image is kept, and goes with it.
 *
 * Each way to change the tree is tried with each part of a state.
 */
#include "kernel/timeline/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 20, MEMBERS = 100, MEMBER_BYTES = 200 };

/* A part of a state, alone in it. */
static struct timeline_state state_with(int part, json_t *json) {
    return (struct timeline_state){
        .comms = part == 0 ? json : NULL, .own_files = part == 1 ? json : NULL, .missed = part == 2 ? json : NULL};
}

/* As a cell leaves it: an object, or what its numbers are, a list. */
static json_t *make_part(int part) {
    char name[MEMBER_BYTES + 1];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    json_t *json = part == 2 ? json_array() : json_object();
    for (int i = 0; i < MEMBERS; i++) {
        (void)snprintf(name, sizeof name - 1, "%d", i);
        name[strlen(name)] = 'n';
        if (part == 2)
            json_array_append_new(json, json_string(name));
        else
            json_object_set_new(json, name, json_integer(i));
    }
    return json;
}

static void drop(void *arg, struct kept_image *image) {
    (void)arg;
    (void)image;
}

static struct kept_image *image(void) {
    static int any;
    return (struct kept_image *)&any;
}

static struct timeline timeline;

static int begin(void **state) {
    const struct timeline_state nothing = {0};
    (void)state;
    timeline_init(&timeline, drop, NULL);
    return timeline_begin(&timeline, image(), &nothing);
}

static int end(void **state) {
    (void)state;
    timeline_fini(&timeline);
    return 0;
}

static void add_step(int i, const struct timeline_state *state) {
    char id[TIMELINE_ID_BYTES];
    (void)snprintf(id, sizeof id, "step-%d", i);
    const struct timeline_cell cell = {.run_id = id, .execution_count = i + 1, .started = ""};
    assert_int_equal(timeline_add(&timeline, &cell, image(), state), 0);
}

/* Beside the session, all of them from its beginning. */
static void add_branch(int i, const struct timeline_state *state) {
    char id[TIMELINE_ID_BYTES];
    (void)snprintf(id, sizeof id, "branch-%d", i);
    const struct timeline_cell cell = {.run_id = id, .execution_count = i + 1, .started = ""};
    assert_int_equal(timeline_branch(&timeline, "first", &cell, image(), state), 0);
}

/* Each with a name, so that the next one amends it as a node of its own. */
static void amend(int i, const struct timeline_state *state) {
    char name[32];
    (void)snprintf(name, sizeof name, "name-%d", i);
    assert_int_equal(timeline_name(&timeline, timeline.current, name), 0);
    assert_int_equal(timeline_amend(&timeline, name, image(), state), 0);
}

static void (*const ways[])(int i, const struct timeline_state *state) = {add_step, add_branch, amend};
enum { WAYS = sizeof ways / sizeof ways[0] };

/* Adds a step that has nothing, and drops all images but its own. */
static void drop_all(void) {
    const struct timeline_state nothing = {0};
    add_step(STEPS, &nothing);
    while (timeline_drop_oldest(&timeline))
        ;
}

static void test_lists_of_states_count_and_go_with_their_images(void **state) {
    for (int part = 0; part < TIMELINE_PARTS; part++) {
        for (int way = 0; way < WAYS; way++) {
            assert_int_equal(begin(state), 0);
            json_t *kept[STEPS];
            for (int i = 0; i < STEPS; i++) {
                kept[i] = make_part(part);
                const struct timeline_state at = state_with(part, kept[i]);
                ways[way](i, &at);
            }
            assert_true(timeline_bytes(&timeline) > (STEPS - 1) * MEMBERS * MEMBER_BYTES);
            drop_all();
            assert_int_equal(timeline_bytes(&timeline), 0);
            for (int i = 0; i < STEPS; i++) {
                assert_int_equal(kept[i]->refcount, 1); /* the test's own */
                json_decref(kept[i]);
            }
            (void)end(state);
        }
    }
}

static void test_list_that_states_share_counts_once(void **state) {
    const struct timeline_state nothing = {0};
    (void)state;
    for (int part = 0; part < TIMELINE_PARTS; part++) {
        json_t *shared = make_part(part);
        const struct timeline_state at = state_with(part, shared);
        for (int i = 0; i < STEPS; i++)
            add_step(i, &at);
        assert_int_equal(timeline_bytes(&timeline), 0); /* the present state has it, too */
        add_step(STEPS, &nothing);
        const uint64_t bytes = timeline_bytes(&timeline);
        assert_in_range(bytes, MEMBERS * MEMBER_BYTES, 3 * MEMBERS * MEMBER_BYTES);
        while (timeline_drop_oldest(&timeline))
            ;
        json_decref(shared);
    }
}

static void test_state_without_an_image_refers_to_nothing(void **state) {
    (void)state;
    for (int part = 0; part < TIMELINE_PARTS; part++) {
        json_t *json = make_part(part);
        const struct timeline_state at = state_with(part, json);
        const struct timeline_cell cell = {.run_id = "lost", .execution_count = 7, .started = ""};
        assert_int_equal(timeline_add(&timeline, &cell, NULL, &at), 0);
        assert_int_equal(json->refcount, 1);
        json_decref(json);
    }
}

/* It may be given a changed copy of itself, and what like has is measured: a map of comms may be large. */
static void test_state_that_is_set_has_references_and_bytes_of_its_own(void **state) {
    (void)state;
    for (int part = 0; part < TIMELINE_PARTS; part++) {
        json_t *json = make_part(part);
        struct timeline_state kept = {0}, to = state_with(part, json);
        timeline_state_set(&kept, &to, NULL);
        assert_int_equal(json->refcount, 2);
        assert_true(kept.bytes[part] > MEMBERS * MEMBER_BYTES);
        struct timeline_state like = kept;
        like.bytes[part] = 7;
        to = kept;
        to.execution_count = 3;
        timeline_state_set(&kept, &to, &like);
        assert_int_equal(json->refcount, 2);
        assert_int_equal(kept.bytes[part], 7);
        assert_int_equal(kept.execution_count, 3);
        timeline_state_set(&kept, &(struct timeline_state){0}, &like);
        assert_int_equal(kept.bytes[part], 0);
        assert_int_equal(json->refcount, 1);
        json_decref(json);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lists_of_states_count_and_go_with_their_images),
        TEST(test_list_that_states_share_counts_once),
        TEST(test_state_without_an_image_refers_to_nothing),
        cmocka_unit_test(test_state_that_is_set_has_references_and_bytes_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
