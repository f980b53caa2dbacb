#include "kernel/displays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct displays displays;

static int setup(void **state) {
    (void)state;
    displays = (struct displays){.limit_bytes = 64, .limit_n = 2};
    return 0;
}

static json_t *content_of(size_t bytes) {
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    memset(text, 'x', bytes);
    text[bytes] = '\0';
    json_t *content =
        json_pack("{s:{s:s}, s:{s:i}, s:i}", "data", "image/png", text, "metadata", "width", 1, "execution_count", 7);
    free(text);
    return content;
}

/* What is shown instead of an output of so many bytes; "" for nothing, "itself" where it is shown. The caller's. */
static char *taken(const char *msg_type, size_t bytes, size_t buffer_bytes) {
    json_t *content = content_of(bytes);
    json_t *shown = displays_take(&displays, msg_type, content, buffer_bytes);
    const char *text = json_string_value(json_object_get(json_object_get(shown, "data"), "text/plain"));
    char *copy = strdup(!shown ? "" : shown == content ? "itself" : text);
    assert_non_null(copy);
    if (shown && shown != content) {
        assert_int_equal(json_integer_value(json_object_get(shown, "execution_count")), 7);
        assert_int_equal(json_object_size(json_object_get(shown, "metadata")), 0);
        assert_int_equal(json_object_size(json_object_get(shown, "data")), 1);
    }
    json_decref(shown);
    json_decref(content);
    return copy;
}

static void expect_taken(const char *msg_type, size_t bytes, size_t buffer_bytes, const char *expected) {
    char *text = taken(msg_type, bytes, buffer_bytes);
    assert_string_equal(text, expected);
    free(text);
}

static void test_displays_within_the_limits_are_shown(void **state) {
    (void)state;
    expect_taken("display_data", 40, 10, "itself");
    expect_taken("execute_result", 40, 0, "itself");
    assert_int_equal(displays.dropped_bytes, 0);
}

static void test_displays_error_over_the_limit_is_replaced_by_a_note(void **state) {
    (void)state;
    char line[65];
    memset(line, 'x', 64);
    line[64] = '\0';
    json_t *content = json_pack("{s:s, s:s, s:[s]}", "ename", "ValueError", "evalue", line, "traceback", line);
    json_t *shown = displays_take(&displays, "error", content, 0);
    assert_ptr_not_equal(shown, content);
    assert_string_equal(json_string_value(json_object_get(shown, "ename")), "ValueError");
    const char *text = json_string_value(json_object_get(shown, "evalue"));
    assert_string_equal(text, "petri: an error of 158 bytes is not shown: it is over the limit of 64 bytes (display).");
    assert_string_equal(json_string_value(json_array_get(json_object_get(shown, "traceback"), 0)), text);
    assert_int_equal(displays.dropped_bytes, 158);
    json_decref(shown);
    json_decref(content);
}

static void test_displays_comm_message_over_the_limit_is_dropped(void **state) {
    (void)state;
    json_t *content = json_pack("{s:s, s:{}}", "comm_id", "some", "data");
    json_t *shown = displays_take(&displays, "comm_msg", content, 10);
    assert_ptr_equal(shown, content);
    json_decref(shown);
    assert_null(displays_take(&displays, "comm_msg", content, 64));
    assert_int_equal(displays.dropped_bytes, 64 + strlen("comm_id"
                                                         "some"
                                                         "data"));
    json_decref(content);
}

static void test_displays_that_are_too_large_are_replaced(void **state) {
    (void)state;
    expect_taken("execute_result", 100, 0,
                 "petri: an output of 109 bytes (image/png) is not shown: it is over the limit of 64 bytes (display).");
    expect_taken("update_display_data", 10, 100,
                 "petri: an output of 119 bytes (image/png) is not shown: it is over the limit of 64 bytes (display).");
    assert_int_equal(displays.dropped_bytes, 109 + 119);
}

static void test_displays_over_their_number_are_dropped_with_one_note(void **state) {
    (void)state;
    expect_taken("display_data", 1, 0, "itself");
    expect_taken("display_data", 1, 0, "itself");
    expect_taken("display_data", 1, 0,
                 "petri: the cell has shown 2 rich outputs, its limit (displays); what comes now is counted and "
                 "dropped.");
    expect_taken("display_data", 1, 0, "");
    expect_taken("execute_result", 1, 0, "");
    assert_int_equal(displays.dropped_bytes, 3 * 10);
    expect_taken("update_display_data", 1, 0, "itself");
}

static void test_displays_leave_other_messages_alone(void **state) {
    (void)state;
    expect_taken("stream", 1000, 1000, "itself");
    expect_taken("clear_output", 1, 0, "itself");
    assert_int_equal(displays.n, 0);
}

static void test_displays_note_names_only_the_first_of_many_types(void **state) {
    json_t *content = json_pack("{s:{s:s, s:s, s:s, s:s}}", "data", "a/a", "0123456789012345", "b/b",
                                "0123456789012345", "c/c", "0123456789012345", "d/d", "0123456789012345");
    json_t *shown = displays_take(&displays, "display_data", content, 0);
    (void)state;
    assert_non_null(strstr(json_string_value(json_object_get(json_object_get(shown, "data"), "text/plain")),
                           " (a/a, b/b, c/c, ...) "));
    json_decref(shown);
    json_decref(content);
}

/* A name that is cut in the middle of a character must not let the output itself through. */
static void test_displays_with_a_type_name_cut_in_a_character_are_replaced(void **state) {
    char type[64], data[65];
    memset(type, 'x', 39);
    strcpy(type + 39, "\xc3\xa9");
    memset(data, 'x', 64);
    data[64] = '\0';
    json_t *content = json_pack("{s:{s:s}}", "data", type, data);
    json_t *shown = displays_take(&displays, "display_data", content, 0);
    (void)state;
    assert_int_equal(json_object_size(json_object_get(shown, "data")), 1);
    assert_non_null(strstr(json_string_value(json_object_get(json_object_get(shown, "data"), "text/plain")),
                           "x\xef\xbf\xbd) is not shown"));
    json_decref(shown);
    json_decref(content);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_displays_within_the_limits_are_shown),
        TEST(test_displays_that_are_too_large_are_replaced),
        TEST(test_displays_over_their_number_are_dropped_with_one_note),
        TEST(test_displays_leave_other_messages_alone),
        TEST(test_displays_note_names_only_the_first_of_many_types),
        TEST(test_displays_with_a_type_name_cut_in_a_character_are_replaced),
        TEST(test_displays_error_over_the_limit_is_replaced_by_a_note),
        TEST(test_displays_comm_message_over_the_limit_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
