#include "kernel/jupyter/comms.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct comms comms;

static int setup(void **state) {
    (void)state;
    return comms_init(&comms);
}

static int teardown(void **state) {
    (void)state;
    comms_fini(&comms);
    return 0;
}

static bool note(const char *msg_type, const char *id) {
    json_t *content = json_pack("{s:s, s:s}", "comm_id", id, "target_name", "target");
    bool noted = comms_note(&comms, msg_type, content);
    json_decref(content);
    return noted;
}

static void test_comm_of_a_rolled_back_cell_is_removed(void **state) {
    (void)state;
    comms_begin(&comms);
    assert_true(note("comm_open", "kept"));
    comms_end(&comms, false);
    comms_begin(&comms);
    assert_true(note("comm_open", "lost"));
    assert_true(note("comm_close", "kept"));
    assert_true(note("comm_msg", "kept"));
    comms_end(&comms, true);
    assert_non_null(json_object_get(comms.open, "kept"));
    assert_null(json_object_get(comms.open, "lost"));
}

static void test_comms_without_a_change_are_not_copied(void **state) {
    json_t *open;
    (void)state;
    assert_true(note("comm_open", "a"));
    open = comms.open;
    comms_begin(&comms);
    assert_true(note("comm_close", "no such"));
    assert_ptr_equal(comms.open, open);
    comms_end(&comms, false);
    assert_ptr_equal(comms.open, open);
}

static void test_comms_over_the_maximum_are_not_noted(void **state) {
    char id[16];
    (void)state;
    comms_begin(&comms);
    for (int i = 0; i < COMMS_MAX; i++) {
        snprintf(id, sizeof id, "%d", i);
        assert_true(note("comm_open", id));
    }
    assert_false(note("comm_open", "one more"));
    assert_true(note("comm_open", "7")); /* again: it is open */
    assert_int_equal(json_object_size(comms.open), COMMS_MAX);
    assert_true(note("comm_close", "7"));
    assert_true(note("comm_open", "one more"));
    comms_end(&comms, true);
    assert_int_equal(json_object_size(comms.open), 0);
}

/* A worker's frame can't have one that is longer, but a client's message can. */
static void test_long_target_name_is_not_kept(void **state) {
    char name[258];
    (void)state;
    memset(name, 'n', sizeof name);
    for (size_t bytes = 256; bytes <= 257; bytes++) {
        json_t *content = json_pack("{s:s, s:s%}", "comm_id", "c", "target_name", name, bytes);
        assert_true(comms_note(&comms, "comm_open", content));
        assert_int_equal(json_string_length(json_object_get(comms.open, "c")), bytes == 256 ? 256 : 0);
        assert_true(comms_has(&comms, content));
        json_decref(content);
    }
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_comm_of_a_rolled_back_cell_is_removed),
        TEST(test_comms_without_a_change_are_not_copied),
        TEST(test_comms_over_the_maximum_are_not_noted),
        TEST(test_long_target_name_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
