/*
 * The tree of images: what is added, left and found, and which images and nodes are given up.
 *
 * An image is an int of the test's, which counts how often it was dropped.
 */
#include "kernel/timeline/timeline.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = TIMELINE_NODES_MAX + 100 };

static int dropped[MANY + 1]; /* by the number of the image */
static int n_images;

static struct kept_image *new_image(void) {
    return (struct kept_image *)&dropped[n_images++];
}

static void drop(void *arg, struct kept_image *image) {
    assert_ptr_equal(arg, dropped);
    (*(int *)image)++;
}

static int begin(void **state) {
    static struct timeline timeline;
    memset(dropped, 0, sizeof dropped);
    n_images = 0;
    timeline_init(&timeline, drop, dropped);
    const struct timeline_state nothing = {0};
    assert_int_equal(timeline_begin(&timeline, new_image(), &nothing), 0);
    *state = &timeline;
    return 0;
}

/* Each image was dropped exactly once. */
static int end(void **state) {
    timeline_fini(*state);
    for (int i = 0; i < n_images; i++)
        assert_int_equal(dropped[i], 1);
    return 0;
}

/* A cell "run-N" that had this count, which is that of the state too. */
static struct timeline_node *add(struct timeline *timeline, int count) {
    char id[TIMELINE_ID_BYTES], code[32];
    snprintf(id, sizeof id, "run-%d", n_images);
    snprintf(code, sizeof code, "\nx = %d\ny = 2", count);
    const struct timeline_cell cell = {.run_id = id,
                                       .execution_count = count,
                                       .code = code,
                                       .code_bytes = strlen(code),
                                       .started = "2026-01-02T03:04:05Z",
                                       .started_ms = 1000,
                                       .wall_ms = 20,
                                       .bytes_changed = 100,
                                       .files_changed = 1};
    const struct timeline_state at = {.execution_count = count};
    assert_int_equal(timeline_add(timeline, &cell, new_image(), &at), 0);
    return timeline->current;
}

/* Nobody goes there by it, and what was undone is on again where it was. */
static void test_branch_is_a_child_of_its_parent_and_not_the_current_one(void **state) {
    struct timeline *timeline = *state;
    const struct timeline_node *one = add(timeline, 1), *two = add(timeline, 2);
    const struct timeline_cell cell = {.run_id = "aside", .execution_count = 2, .started = ""};
    const struct timeline_state at = {.execution_count = 2};
    assert_int_equal(timeline_branch(timeline, one->id, &cell, new_image(), &at), 0);
    const struct timeline_node *aside = timeline_find(timeline, "aside");
    assert_ptr_equal(timeline->current, two);
    assert_ptr_equal(aside->parent, one);
    assert_string_equal(aside->parent_id, one->id);
    const struct timeline_cell orphan = {.run_id = "orphan", .started = ""};
    assert_int_equal(timeline_branch(timeline, "forgotten", &orphan, new_image(), &at), 0);
    assert_null(timeline_find(timeline, "orphan")->parent);
    assert_string_equal(timeline_find(timeline, "orphan")->parent_id, "forgotten");
}

static void test_begin_makes_the_first_node_current(void **state) {
    struct timeline *timeline = *state;
    assert_int_equal(timeline->n, 1);
    assert_int_equal(timeline->n_images, 1);
    assert_ptr_equal(timeline->current, timeline->node[0]);
    assert_string_equal(timeline->current->id, "first");
    assert_string_equal(timeline->current->parent_id, "");
    assert_null(timeline->current->parent);
    assert_null(timeline_before(timeline, 1));
    assert_null(timeline_after(timeline, 1));
}

static void test_add_makes_a_child_with_what_is_known(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *node = add(timeline, 3);
    assert_ptr_equal(node->parent, first);
    assert_string_equal(node->parent_id, "first");
    assert_string_equal(node->id, "run-1");
    assert_string_equal(node->line, "x = 3");
    assert_string_equal(node->started, "2026-01-02T03:04:05Z");
    assert_int_equal(node->execution_count, 3);
    assert_int_equal(node->state.execution_count, 3);
    assert_int_equal(node->wall_ms, 20);
    assert_int_equal(node->bytes_changed, 100);
    assert_int_equal(node->files_changed, 1);
    assert_true(node->order > first->order);
    assert_int_equal(timeline->n_images, 2);
}

static void test_add_without_an_image_is_a_node_that_is_gone(void **state) {
    struct timeline *timeline = *state;
    const struct timeline_state nothing = {0};
    const struct timeline_cell cell = {.run_id = "lost", .started = ""};
    assert_int_equal(timeline_add(timeline, &cell, NULL, &nothing), 0);
    assert_null(timeline->current->image);
    assert_string_equal(timeline->current->line, "");
    assert_int_equal(timeline->n_images, 1);
    assert_ptr_equal(timeline_find(timeline, "lost"), timeline->current);
}

static void test_add_recorded_of_a_known_and_an_unknown_parent_makes_a_child_and_a_root(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current;
    const struct timeline_cell one = {.run_id = "one", .execution_count = 1, .started = ""};
    const struct timeline_cell two = {.run_id = "two", .execution_count = 2, .started = ""};
    const struct timeline_cell three = {.run_id = "three", .execution_count = 3, .started = ""};
    assert_int_equal(timeline_add_recorded(timeline, &one, "first"), 0);
    assert_int_equal(timeline_add_recorded(timeline, &two, "first"), 0);
    assert_ptr_equal(timeline->current->parent, first);
    assert_null(timeline->current->image);
    assert_int_equal(timeline_add_recorded(timeline, &three, "forgotten"), 0);
    assert_null(timeline->current->parent);
    assert_string_equal(timeline->current->parent_id, "forgotten");
    assert_int_equal(timeline->n_images, 1);
}

static void test_states_hold_their_own_comms(void **state) {
    struct timeline *timeline = *state;
    json_t *comms = json_object();
    const struct timeline_state with = {.execution_count = 1, .comms = comms}, without = {0};
    const struct timeline_cell cell = {.run_id = "a", .started = ""};
    assert_int_equal(timeline_add(timeline, &cell, new_image(), &with), 0);
    assert_int_equal(comms->refcount, 2);
    assert_int_equal(timeline_amend(timeline, "b", new_image(), &with), 0);
    assert_int_equal(comms->refcount, 2);
    assert_int_equal(timeline_amend(timeline, "c", new_image(), &without), 0);
    assert_int_equal(comms->refcount, 1);
    json_decref(comms);
}

static void test_before_counts_steps_as_far_as_there_are_any(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *two = add(timeline, 2);
    add(timeline, 3);
    assert_ptr_equal(timeline_before(timeline, 1), two);
    assert_ptr_equal(timeline_before(timeline, 2), one);
    assert_ptr_equal(timeline_before(timeline, 3), first);
    assert_ptr_equal(timeline_before(timeline, 1000000), first);
    assert_null(timeline_after(timeline, 1));
}

static void test_before_counts_a_node_that_is_gone(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    add(timeline, 2);
    assert_ptr_equal(timeline_drop_oldest(timeline), first);
    assert_ptr_equal(timeline_drop_oldest(timeline), one);
    assert_ptr_equal(timeline_before(timeline, 1), one);
    assert_null(one->image);
}

static void test_go_back_leaves_a_way_on(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *two = add(timeline, 2);
    timeline_go(timeline, first);
    assert_ptr_equal(timeline->current, first);
    assert_ptr_equal(timeline_after(timeline, 1), one);
    assert_ptr_equal(timeline_after(timeline, 2), two);
    assert_ptr_equal(timeline_after(timeline, 9), two);
    timeline_go(timeline, two);
    assert_null(timeline_after(timeline, 1));
    assert_ptr_equal(timeline_before(timeline, 1), one);
}

static void test_add_after_going_back_keeps_the_branch(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *old = add(timeline, 1);
    timeline_go(timeline, first);
    struct timeline_node *new = add(timeline, 1);
    assert_null(timeline_after(timeline, 1));
    assert_ptr_equal(new->parent, first);
    assert_ptr_equal(first->redo, old);
    assert_int_equal(timeline->n, 3);
    timeline_go(timeline, first);
    assert_ptr_equal(timeline_after(timeline, 1), new);
}

static void test_go_to_another_branch_leaves_a_way_on_in_the_one_that_is_left(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *old = add(timeline, 2);
    timeline_go(timeline, one);
    struct timeline_node *two = add(timeline, 2), *three = add(timeline, 3), *four = add(timeline, 4);
    timeline_go(timeline, old);
    assert_null(timeline_after(timeline, 1));
    assert_null(first->redo);
    timeline_go(timeline, two);
    assert_ptr_equal(timeline_after(timeline, 1), three);
    assert_ptr_equal(timeline_after(timeline, 2), four);
    timeline_go(timeline, old);
    timeline_go(timeline, one);
    assert_ptr_equal(timeline_after(timeline, 1), old);
}

/* Where nothing is in common any more. */
static void test_go_to_a_branch_whose_root_is_forgotten_goes_there(void **state) {
    struct timeline *timeline = *state;
    const struct timeline_state nothing = {0};
    const struct timeline_cell cell = {.run_id = "orphan", .execution_count = 9, .started = ""};
    struct timeline_node *one = add(timeline, 1), *two = add(timeline, 2);
    assert_int_equal(timeline_branch(timeline, "forgotten", &cell, new_image(), &nothing), 0);
    timeline_go(timeline, timeline_find(timeline, "orphan"));
    assert_string_equal(timeline->current->id, "orphan");
    timeline_go(timeline, one);
    assert_ptr_equal(timeline_after(timeline, 1), two);
}

static void test_amend_replaces_the_image(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *one = add(timeline, 1);
    struct kept_image *image = new_image();
    const struct timeline_state after = {.execution_count = 5};
    assert_int_equal(timeline_amend(timeline, "amended", image, &after), 0);
    assert_ptr_equal(timeline->current, one);
    assert_ptr_equal(one->image, image);
    assert_int_equal(one->state.execution_count, 5);
    assert_int_equal(one->execution_count, 1);
    assert_int_equal(dropped[1], 1);
    assert_int_equal(timeline->n_images, 2);
    assert_int_equal(timeline_amend(timeline, "amended", NULL, &after), 0);
    assert_null(one->image);
    assert_int_equal(timeline->n_images, 1);
}

static void test_amend_of_a_named_node_adds_a_child(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    struct kept_image *image = one->image;
    const struct timeline_state after = {.execution_count = 5};
    assert_int_equal(timeline_name(timeline, one, "clean"), 0);
    assert_int_equal(timeline_amend(timeline, "amended", new_image(), &after), 0);
    assert_ptr_equal(one->image, image);
    assert_ptr_equal(timeline->current->parent, one);
    assert_string_equal(timeline->current->id, "amended");
    assert_string_equal(timeline->current->line, "");
    assert_int_equal(timeline->current->execution_count, 0);
    assert_int_equal(timeline->current->state.execution_count, 5);
    assert_int_equal(json_array_size(timeline->current->names), 0);
    assert_true(timeline->current->amends);
    assert_ptr_equal(timeline_shown(timeline->current), one);
    assert_int_equal(timeline_count_kept(timeline), 2);
    assert_ptr_equal(timeline_find(timeline, "1"), timeline->current);
    assert_ptr_equal(timeline_find(timeline, "amended"), timeline->current);
    assert_ptr_equal(timeline_find(timeline, "clean"), one);
    assert_ptr_equal(timeline_find(timeline, "run-1"), one);
    timeline_go(timeline, first);
    assert_ptr_equal(timeline_find(timeline, "1")->parent, one);
}

static void amend(struct timeline *timeline, const char *id) {
    const struct timeline_state nothing = {0};
    const char *before = timeline_amended_id(timeline, id);
    char expected[TIMELINE_ID_BYTES];
    snprintf(expected, sizeof expected, "%s", before);
    assert_int_equal(timeline_amend(timeline, id, new_image(), &nothing), 0);
    assert_string_equal(timeline->current->id, expected);
}

static void test_what_amends_a_named_node_is_no_step_back_or_on(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    struct timeline_way way;
    assert_int_equal(timeline_name(timeline, one, "clean"), 0);
    amend(timeline, "a");
    struct timeline_node *a = timeline->current, *two = add(timeline, 2);
    assert_ptr_equal(two->parent, a);
    assert_ptr_equal(timeline_before(timeline, 1), a);
    assert_ptr_equal(timeline_before(timeline, 2), first);
    timeline_go(timeline, a);
    assert_ptr_equal(timeline_before(timeline, 1), first);
    timeline_go(timeline, first);
    assert_ptr_equal(timeline_after(timeline, 1), a);
    assert_ptr_equal(timeline_after(timeline, 2), two);
    timeline_measure_way(timeline, two, &way);
    assert_int_equal(way.again, 2);
    timeline_go(timeline, one);
    assert_ptr_equal(timeline_after(timeline, 1), two);
    amend(timeline, "b");
    assert_ptr_not_equal(timeline->current, a);
    assert_ptr_equal(timeline_after(timeline, 1), two);
    assert_ptr_equal(timeline_before(timeline, 1), first);
}

static void test_step_that_is_left_at_its_name_is_come_back_to_there(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    assert_int_equal(timeline_name(timeline, one, "clean"), 0);
    amend(timeline, "a");
    struct timeline_node *two = add(timeline, 2);
    timeline_go(timeline, one);
    timeline_go(timeline, first);
    assert_ptr_equal(timeline_after(timeline, 1), one);
    assert_ptr_equal(timeline_after(timeline, 2), two);
}

/* As often as one goes back to a name, where a front end runs its code after each line. */
static void test_named_node_that_is_amended_again_and_again_has_one_more_image(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *one = add(timeline, 1), *two = add(timeline, 2);
    assert_int_equal(timeline_name(timeline, one, "clean"), 0);
    for (int i = 0; i < 5; i++) {
        timeline_go(timeline, one);
        amend(timeline, "a");
        amend(timeline, "b");
        assert_int_equal(timeline->n_images, 4);
        assert_int_equal(timeline_count_kept(timeline), 3);
        assert_ptr_equal(timeline_after(timeline, 1), two);
    }
}

static void test_amended_node_that_has_a_name_is_seen_and_no_step(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    assert_int_equal(timeline_name(timeline, one, "clean"), 0);
    amend(timeline, "a");
    assert_int_equal(timeline_name(timeline, timeline->current, "later"), 0);
    assert_ptr_equal(timeline_shown(timeline->current), timeline->current);
    assert_int_equal(timeline_count_kept(timeline), 3);
    assert_ptr_equal(timeline_before(timeline, 1), first);
    amend(timeline, "b");
    assert_string_equal(timeline_shown(timeline->current)->id, "a");
    assert_ptr_equal(timeline_before(timeline, 1), first);
}

static void test_find_of_each_kind_of_text_finds_it(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *two = add(timeline, 2);
    assert_int_equal(timeline_name(timeline, one, "clean"), 0);
    assert_ptr_equal(timeline_find(timeline, "first"), first);
    assert_ptr_equal(timeline_find(timeline, "clean"), one);
    assert_ptr_equal(timeline_find(timeline, "run-2"), two);
    assert_ptr_equal(timeline_find(timeline, "2"), two);
    static const char *const unknown[] = {"",      "0",  "3", "-1", "2x", "4294967298", "99999999999999999999",
                                          "Clean", "run"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        assert_null(timeline_find(timeline, unknown[i]));
}

/* A run in the current state, which has an id and whose cell had no number. */
static struct timeline_node *add_id(struct timeline *timeline, const char *id) {
    const struct timeline_state nothing = {0};
    const struct timeline_cell cell = {.run_id = id, .started = ""};
    assert_int_equal(timeline_add(timeline, &cell, new_image(), &nothing), 0);
    return timeline->current;
}

static void test_find_of_the_beginning_of_an_id_finds_the_only_one_that_has_it(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *a = add_id(timeline, "abcdef01-1111"), *b = add_id(timeline, "abcdef01-2222");
    struct timeline_node *c = add_id(timeline, "abcdef02-3333");
    char text[TIMELINE_ID_BYTES];
    assert_ptr_equal(timeline_find(timeline, "abcdef02"), c);
    assert_ptr_equal(timeline_find(timeline, "abcdef01-2"), b);
    assert_null(timeline_find(timeline, "abcdef01"));
    assert_null(timeline_find(timeline, "abcdef01-"));
    assert_null(timeline_find(timeline, "abcdef0"));
    assert_null(timeline_find(timeline, "abcdef02-33334"));
    assert_int_equal(timeline_count_ids(timeline, "abcdef01"), 2);
    assert_int_equal(timeline_count_ids(timeline, "abcdef0"), 0);
    assert_string_equal(timeline_short_id(timeline, a, text), "abcdef01-1");
    assert_string_equal(timeline_short_id(timeline, b, text), "abcdef01-2");
    assert_string_equal(timeline_short_id(timeline, c, text), "abcdef02");
    assert_int_equal(timeline_name(timeline, a, "abcdef02"), 0);
    assert_ptr_equal(timeline_find(timeline, "abcdef02"), a);
}

/* Of eight characters that are all digits; one that is shown has another one. */
static void test_find_of_digits_prefers_a_number_and_knows_an_id_where_there_is_none(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *digits = add_id(timeline, "12345678-1111"), *zeros = add_id(timeline, "00000001-1111");
    struct timeline_node *one = add(timeline, 1), *large;
    char text[TIMELINE_ID_BYTES];
    assert_ptr_equal(timeline_find(timeline, "12345678"), digits);
    assert_ptr_equal(timeline_find(timeline, "00000001"), zeros);
    assert_ptr_equal(timeline_find(timeline, "01"), one);
    assert_null(timeline_find_number(timeline, 12345678));
    assert_null(timeline_find_number(timeline, -1));
    assert_string_equal(timeline_short_id(timeline, digits, text), "12345678-");
    large = add(timeline, 12345678);
    assert_ptr_equal(timeline_find(timeline, "12345678"), large);
    assert_ptr_equal(timeline_find(timeline, "12345678-"), digits);
    assert_ptr_equal(timeline_find_number(timeline, 12345678), large);
}

static void test_find_of_a_number_prefers_the_own_line_then_the_newest(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *a = add(timeline, 1), *b;
    timeline_go(timeline, first);
    b = add(timeline, 1);
    assert_ptr_equal(timeline_find(timeline, "1"), b);
    timeline_go(timeline, a);
    assert_ptr_equal(timeline_find(timeline, "1"), a);
    timeline_go(timeline, first);
    assert_ptr_equal(timeline_find(timeline, "1"), b);
}

static void test_name_of_another_node_moves(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *one = add(timeline, 1), *two = add(timeline, 2);
    assert_int_equal(timeline_name(timeline, one, "b"), 0);
    assert_int_equal(timeline_name(timeline, one, "a"), 0);
    assert_int_equal(timeline_name(timeline, one, "c"), 0);
    assert_int_equal(timeline_name(timeline, one, "b"), 0);
    json_auto_t *sorted = json_pack("[s, s, s]", "a", "b", "c"), *left = json_pack("[s, s]", "a", "c");
    assert_true(json_equal(one->names, sorted));
    assert_int_equal(timeline_name(timeline, two, "b"), 0);
    assert_true(json_equal(one->names, left));
    assert_ptr_equal(timeline_find(timeline, "b"), two);
}

static void test_unname_takes_it_away(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *one = add(timeline, 1);
    assert_int_equal(timeline_name(timeline, one, "a"), 0);
    assert_int_equal(timeline_unname(timeline, "a"), 0);
    assert_null(timeline_find(timeline, "a"));
    assert_int_equal(timeline_unname(timeline, "a"), -ENOENT);
    assert_int_equal(timeline_unname(timeline, "first"), -ENOENT);
}

static void test_drop_oldest_keeps_names_longest_and_the_current_always(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *two = add(timeline, 2);
    struct timeline_node *three = add(timeline, 3);
    assert_int_equal(timeline_name(timeline, first, "a"), 0);
    assert_int_equal(timeline_name(timeline, two, "b"), 0);
    timeline_go(timeline, one);
    assert_ptr_equal(timeline_drop_oldest(timeline), three);
    assert_ptr_equal(timeline_drop_oldest(timeline), two);
    assert_ptr_equal(timeline_drop_oldest(timeline), first);
    assert_null(timeline_drop_oldest(timeline));
    assert_int_equal(timeline->n_images, 1);
    assert_non_null(one->image);
    assert_int_equal(timeline->n, 4);
}

/* Who tries again and again from one state goes back to that. */
static void test_drop_oldest_keeps_what_the_current_one_was_made_of(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    timeline_go(timeline, first);
    struct timeline_node *two = add(timeline, 2);
    timeline_go(timeline, first);
    add(timeline, 3);
    assert_ptr_equal(timeline_drop_oldest(timeline), one);
    assert_ptr_equal(timeline_drop_oldest(timeline), two);
    assert_ptr_equal(timeline_drop_oldest(timeline), first);
}

static struct timeline_node *branch(struct timeline *timeline, const char *parent, int count) {
    const struct timeline_cell cell = {.run_id = "aside", .execution_count = count, .started = ""};
    const struct timeline_state at = {.execution_count = count};
    assert_int_equal(timeline_branch(timeline, parent, &cell, new_image(), &at), 0);
    return timeline->node[timeline->n - 1];
}

/* However many have names, one can go back by one cell, and to what a branch has just left. */
static void test_drop_oldest_keeps_the_way_back_and_what_a_branch_left_longer_than_names(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *two = add(timeline, 2);
    assert_int_equal(timeline_name(timeline, first, "a"), 0);
    assert_int_equal(timeline_name(timeline, one, "b"), 0);
    add(timeline, 3);
    struct timeline_node *aside = branch(timeline, "first", 1);
    assert_ptr_equal(timeline_drop_oldest(timeline), first);
    assert_ptr_equal(timeline_drop_oldest(timeline), one);
    assert_ptr_equal(timeline_drop_oldest(timeline), two);
    assert_ptr_equal(timeline_drop_oldest(timeline), aside);
    struct timeline_node *other = branch(timeline, "first", 1);
    struct timeline_node *four = add(timeline, 4);
    add(timeline, 5);
    assert_ptr_equal(timeline_drop_oldest(timeline), timeline->node[3]);
    assert_ptr_equal(timeline_drop_oldest(timeline), other);
    assert_ptr_equal(timeline_drop_oldest(timeline), four);
}

/* Where a run may come back to: nothing takes it away, and it is as if nobody had been elsewhere. */
static void test_what_is_held_stays_and_is_gone_back_to_as_if_it_had_not_been_left(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *two = add(timeline, 2);
    timeline_go(timeline, one);
    add(timeline, 3);
    timeline_go(timeline, one);
    assert_ptr_equal(timeline_after(timeline, 1)->parent, one);
    struct timeline_node *redo = timeline_after(timeline, 1);
    timeline_hold(timeline);
    timeline_go(timeline, two);
    assert_ptr_equal(timeline_drop_oldest(timeline), first);
    assert_ptr_equal(timeline_drop_oldest(timeline), redo);
    assert_null(timeline_drop_oldest(timeline));
    assert_non_null(one->image);
    timeline_let_go(timeline, true);
    assert_ptr_equal(timeline->current, one);
    assert_ptr_equal(timeline_after(timeline, 1), redo);
    timeline_go(timeline, two);
    assert_ptr_equal(timeline_drop_oldest(timeline), one);
}

static void test_nodes_past_the_most_are_forgotten(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    timeline_go(timeline, first);
    while (timeline->n < TIMELINE_NODES_MAX)
        add(timeline, (int)timeline->n);
    struct timeline_node *second = timeline->node[2], *last = timeline->current;
    assert_ptr_equal(timeline_drop_oldest(timeline), first);
    assert_ptr_equal(first->redo, one);
    add(timeline, 5000);
    assert_int_equal(timeline->n, TIMELINE_NODES_MAX);
    assert_ptr_equal(timeline->node[0], one);
    assert_null(one->parent);
    assert_null(second->parent);
    assert_string_equal(second->parent_id, "first");
    assert_null(timeline_find(timeline, "first"));
    assert_ptr_equal(timeline_before(timeline, 1), last);
    assert_ptr_equal(timeline_before(timeline, MANY), second);
}

static void test_nodes_that_are_forgotten_are_no_way_on(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current;
    const struct timeline_state nothing = {0};
    const struct timeline_cell lost = {.run_id = "lost", .started = ""};
    assert_int_equal(timeline_add(timeline, &lost, NULL, &nothing), 0);
    timeline_go(timeline, first);
    assert_non_null(timeline_after(timeline, 1));
    while (timeline->n <= TIMELINE_NODES_MAX && timeline_find(timeline, "lost"))
        add(timeline, (int)timeline->n);
    assert_int_equal(timeline->n, TIMELINE_NODES_MAX);
    assert_null(first->redo);
}

static void test_nodes_with_images_and_the_current_are_never_forgotten(void **state) {
    struct timeline *timeline = *state;
    const struct timeline_state nothing = {0};
    const struct timeline_cell lost = {.run_id = "lost", .started = ""};
    while (timeline->n < TIMELINE_NODES_MAX - 1)
        add(timeline, (int)timeline->n);
    assert_int_equal(timeline_add(timeline, &lost, NULL, &nothing), 0);
    struct timeline_node *current = timeline->current;
    add(timeline, 1); /* its parent is the current one until now, and stays */
    assert_int_equal(timeline->n, TIMELINE_NODES_MAX + 1);
    assert_ptr_equal(timeline->current->parent, current);
    add(timeline, 2); /* now it can go, which is not enough */
    assert_int_equal(timeline->n, TIMELINE_NODES_MAX + 1);
    assert_null(timeline_find(timeline, "lost"));
    add(timeline, 3);
    assert_int_equal(timeline->n, TIMELINE_NODES_MAX + 2);
}

static void check_way(const struct timeline *timeline, const struct timeline_node *node, unsigned cells,
                      unsigned again) {
    struct timeline_way way;
    timeline_measure_way(timeline, node, &way);
    assert_int_equal(way.cells, cells);
    assert_int_equal(way.again, again);
    assert_int_equal(way.files, cells);
    assert_int_equal(way.bytes, 100 * cells);
}

static void test_measure_way_sums_what_is_undone(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1), *two = add(timeline, 2);
    struct timeline_node *three = add(timeline, 3);
    check_way(timeline, three, 0, 0);
    check_way(timeline, two, 1, 0);
    check_way(timeline, first, 3, 0);
    timeline_go(timeline, one);
    check_way(timeline, three, 0, 2);
    struct timeline_node *other = add(timeline, 2);
    check_way(timeline, three, 1, 2);
    timeline_go(timeline, first);
    check_way(timeline, other, 0, 2);
}

static void test_measure_way_without_a_common_node_counts_both_lines(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    timeline_go(timeline, first);
    add(timeline, 1);
    struct timeline_node *two = add(timeline, 2);
    while (timeline->n < TIMELINE_NODES_MAX) {
        timeline_go(timeline, two);
        add(timeline, 3);
    }
    assert_ptr_equal(timeline_drop_oldest(timeline), first);
    timeline_go(timeline, two);
    add(timeline, 3);
    check_way(timeline, one, 3, 1);
}

static void *no_memory(size_t size) {
    (void)size;
    return NULL;
}

static void test_calls_without_memory_steal_nothing(void **state) {
    struct timeline *timeline = *state;
    struct timeline_node *first = timeline->current, *one = add(timeline, 1);
    struct kept_image *image = (struct kept_image *)&dropped[MANY];
    const struct timeline_state nothing = {0};
    const struct timeline_cell cell = {.run_id = "a", .started = ""};
    json_malloc_t old_malloc;
    json_free_t old_free;
    assert_int_equal(timeline_name(timeline, one, "a"), 0);
    json_get_alloc_funcs(&old_malloc, &old_free);
    json_set_alloc_funcs(no_memory, old_free);
    const int added = timeline_add(timeline, &cell, image, &nothing);
    const int amended = timeline_amend(timeline, "b", image, &nothing);
    const int named = timeline_name(timeline, first, "a");
    json_set_alloc_funcs(old_malloc, old_free);
    assert_int_equal(added, -ENOMEM);
    assert_int_equal(amended, -ENOMEM);
    assert_int_equal(named, -ENOMEM);
    assert_int_equal(dropped[MANY], 0);
    assert_int_equal(timeline->n, 2);
    assert_ptr_equal(timeline->current, one);
    assert_ptr_equal(timeline_find(timeline, "a"), one);
}

#define WITH_TIMELINE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITH_TIMELINE(test_begin_makes_the_first_node_current),
        WITH_TIMELINE(test_branch_is_a_child_of_its_parent_and_not_the_current_one),
        WITH_TIMELINE(test_add_makes_a_child_with_what_is_known),
        WITH_TIMELINE(test_add_without_an_image_is_a_node_that_is_gone),
        WITH_TIMELINE(test_add_recorded_of_a_known_and_an_unknown_parent_makes_a_child_and_a_root),
        WITH_TIMELINE(test_states_hold_their_own_comms),
        WITH_TIMELINE(test_before_counts_steps_as_far_as_there_are_any),
        WITH_TIMELINE(test_before_counts_a_node_that_is_gone),
        WITH_TIMELINE(test_go_back_leaves_a_way_on),
        WITH_TIMELINE(test_add_after_going_back_keeps_the_branch),
        WITH_TIMELINE(test_go_to_another_branch_leaves_a_way_on_in_the_one_that_is_left),
        WITH_TIMELINE(test_amend_replaces_the_image),
        WITH_TIMELINE(test_amend_of_a_named_node_adds_a_child),
        WITH_TIMELINE(test_what_amends_a_named_node_is_no_step_back_or_on),
        WITH_TIMELINE(test_step_that_is_left_at_its_name_is_come_back_to_there),
        WITH_TIMELINE(test_named_node_that_is_amended_again_and_again_has_one_more_image),
        WITH_TIMELINE(test_amended_node_that_has_a_name_is_seen_and_no_step),
        WITH_TIMELINE(test_find_of_each_kind_of_text_finds_it),
        WITH_TIMELINE(test_go_to_a_branch_whose_root_is_forgotten_goes_there),
        WITH_TIMELINE(test_find_of_the_beginning_of_an_id_finds_the_only_one_that_has_it),
        WITH_TIMELINE(test_find_of_digits_prefers_a_number_and_knows_an_id_where_there_is_none),
        WITH_TIMELINE(test_find_of_a_number_prefers_the_own_line_then_the_newest),
        WITH_TIMELINE(test_name_of_another_node_moves),
        WITH_TIMELINE(test_unname_takes_it_away),
        WITH_TIMELINE(test_drop_oldest_keeps_names_longest_and_the_current_always),
        WITH_TIMELINE(test_drop_oldest_keeps_what_the_current_one_was_made_of),
        WITH_TIMELINE(test_drop_oldest_keeps_the_way_back_and_what_a_branch_left_longer_than_names),
        WITH_TIMELINE(test_what_is_held_stays_and_is_gone_back_to_as_if_it_had_not_been_left),
        WITH_TIMELINE(test_nodes_past_the_most_are_forgotten),
        WITH_TIMELINE(test_nodes_that_are_forgotten_are_no_way_on),
        WITH_TIMELINE(test_nodes_with_images_and_the_current_are_never_forgotten),
        WITH_TIMELINE(test_measure_way_sums_what_is_undone),
        WITH_TIMELINE(test_measure_way_without_a_common_node_counts_both_lines),
        WITH_TIMELINE(test_calls_without_memory_steal_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
