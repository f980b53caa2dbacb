#include "kernel/worker/displays.h"

#include "tests/kernel/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct displays displays;
static char note[256];

static int setup(void **state) {
    (void)state;
    displays = (struct displays){.limit_bytes = 512, .limit_n = 2};
    return 0;
}

static json_t *content_of(size_t bytes) {
    return json_pack("{s:{s:o}, s:{s:i}, s:{s:s}}", "data", "image/png", frames_text(bytes), "metadata", "width", 1,
                     "transient", "display_id", "id");
}

/* What is shown of a message, "" for nothing, "itself" where it is shown whole. */
static void expect_shown(struct published message, const char *expected) {
    json_t *content = message.content;
    bool shown = displays_admit(&displays, &message, note, sizeof note);
    json_t *data = json_object_get(message.content, "data");
    const char *text = json_string_value(json_object_get(data, "text/plain"));
    assert_string_equal(!shown ? "" : message.content == content ? "itself" : text, expected);
    if (shown && message.content != content) {
        assert_int_equal(json_object_size(data), 1);
        assert_int_equal(json_object_size(json_object_get(message.content, "metadata")), 0);
        assert_null(message.metadata);
        assert_int_equal(message.n_buffers, 0);
    }
    published_fini(&message);
}

static void expect_taken(const char *msg_type, size_t bytes, size_t buffer_bytes, const char *expected) {
    json_t *content = content_of(bytes);
    if (strcmp(msg_type, "execute_result") == 0)
        json_object_del(content, "transient");
    expect_shown(frames_take(msg_type, content, NULL, buffer_bytes), expected);
}

static void test_displays_within_the_limits_are_shown(void **state) {
    (void)state;
    expect_taken("display_data", 340, 10, "itself");
    expect_taken("execute_result", 340, 0, "itself");
    expect_taken("update_display_data", 340, 0, "itself");
    assert_int_equal(displays.n, 2);
    assert_int_equal(displays.dropped_bytes, 0);
}

#define OVER "petri: an output of %zu bytes (image/png) is not shown: it is over the limit of 512 bytes (display)."

/* Wherever in a message the bytes are. */
static void test_displays_over_the_limit_in_any_part_are_replaced(void **state) {
    static const char *const parts[] = {"data", "metadata", "transient"};
    json_t *other = json_object();
    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_t *content = content_of(1);
        json_object_set_new(json_object_get(content, parts[i]), "more", frames_text(600));
        struct published message = frames_take("update_display_data", content, NULL, 0);
        assert_true(message.bytes > 600);
        assert_true(displays_admit(&displays, &message, note, sizeof note));
        assert_non_null(
            strstr(json_string_value(json_object_get(json_object_get(message.content, "data"), "text/plain")),
                   "is not shown: it is over the limit of 512 bytes (display)."));
        assert_true(message.bytes < 512);
        published_fini(&message);
    }
    json_object_set_new(other, "more", frames_text(600));
    struct published message = frames_take("update_display_data", content_of(1), other, 0);
    assert_true(displays_admit(&displays, &message, note, sizeof note));
    assert_true(message.bytes < 512 && message.metadata == NULL);
    published_fini(&message);
    assert_true(displays.dropped_bytes > 4 * 600);
}

static void test_displays_that_are_replaced_keep_execution_count_and_display_id(void **state) {
    struct published message = frames_take("update_display_data", content_of(600), NULL, 0);
    (void)state;
    assert_true(displays_admit(&displays, &message, note, sizeof note));
    json_t *id = json_object_get(json_object_get(message.content, "transient"), "display_id");
    assert_string_equal(json_string_value(id), "id");
    assert_string_equal(note, "");
    published_fini(&message);
    message = frames_take("execute_result",
                          json_pack("{s:{s:o}, s:i}", "data", "a/b", frames_text(600), "execution_count", 7), NULL, 0);
    assert_true(displays_admit(&displays, &message, note, sizeof note));
    assert_int_equal(json_integer_value(json_object_get(message.content, "execution_count")), 7);
    published_fini(&message);
}

static void test_displays_with_buffers_over_the_limit_are_replaced(void **state) {
    char text[128];
    struct published message = frames_take("display_data", content_of(1), NULL, 600);
    snprintf(text, sizeof text, OVER, message.bytes);
    (void)state;
    expect_shown(message, text);
}

static void test_displays_error_over_the_limit_is_replaced_by_a_note(void **state) {
    struct published message = frames_take(
        "error", json_pack("{s:s, s:o, s:[]}", "ename", "ValueError", "evalue", frames_text(512), "traceback"), NULL,
        0);
    char text[128];
    (void)state;
    snprintf(text, sizeof text,
             "petri: an error of %zu bytes is not shown: it is over the limit of 512 bytes (display).", message.bytes);
    uint64_t bytes = message.bytes;
    assert_true(displays_admit(&displays, &message, note, sizeof note));
    assert_string_equal(json_string_value(json_object_get(message.content, "ename")), "ValueError");
    assert_string_equal(json_string_value(json_object_get(message.content, "evalue")), text);
    assert_string_equal(json_string_value(json_array_get(json_object_get(message.content, "traceback"), 0)), text);
    assert_int_equal(displays.dropped_bytes, bytes);
    published_fini(&message);
}

static void expect_comm(size_t bytes, bool admitted, const char *told) {
    struct published message = frames_take("comm_msg", json_pack("{s:s, s:{}}", "comm_id", "some", "data"),
                                           json_pack("{s:o}", "k", frames_text(bytes)), 0);
    assert_int_equal(displays_admit(&displays, &message, note, sizeof note), admitted);
    assert_string_equal(note, told);
    published_fini(&message);
}

static void test_displays_comm_messages_over_the_limit_are_dropped_with_one_note(void **state) {
    (void)state;
    expect_comm(10, true, "");
    expect_comm(512, false, "petri: a comm_msg was dropped: it was over the limit of 512 bytes (display).\n");
    expect_comm(512, false, "");
    assert_true(displays.dropped_bytes > 2 * 512);
}

static void test_displays_over_their_number_are_dropped_with_one_note(void **state) {
    (void)state;
    expect_taken("display_data", 1, 0, "itself");
    expect_taken("display_data", 1, 0, "itself");
    assert_int_equal(displays.dropped_bytes, 0);
    expect_taken("display_data", 1, 0,
                 "petri: the cell has shown 2 rich outputs, its limit (displays); what comes now is counted and "
                 "dropped.");
    expect_taken("display_data", 1, 0, "");
    expect_taken("execute_result", 1, 0, "");
    assert_true(displays.dropped_bytes > 3 * 50);
    expect_taken("update_display_data", 1, 0, "itself");
}

/* What has no number of its own: as much as all rich outputs together may be, and no more. */
static void test_displays_messages_that_do_not_count_are_bounded_together(void **state) {
    unsigned admitted = 0, notes = 0;
    (void)state;
    for (int i = 0; i < 1000; i++) {
        struct published message = frames_take("clear_output", json_pack("{s:b}", "wait", 1), NULL, 0);
        admitted += displays_admit(&displays, &message, note, sizeof note);
        notes += note[0] != '\0';
        published_fini(&message);
    }
    assert_true(admitted >= DISPLAYS_OTHERS && admitted < 200);
    assert_int_equal(notes, 1);
    assert_true(displays.dropped_bytes >= (1000 - admitted) * strlen("{\"wait\":true}"));
}

static json_t *content_with_types(const char *const *types, size_t n) {
    json_t *data = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(data, types[i], frames_text(200));
    return json_pack("{s:o}", "data", data);
}

static void test_displays_note_names_only_the_first_of_many_types(void **state) {
    static const char *const types[] = {"a/a", "b/b", "c/c", "d/d"};
    struct published message = frames_take("display_data", content_with_types(types, 4), NULL, 0);
    (void)state;
    assert_true(displays_admit(&displays, &message, note, sizeof note));
    json_t *data = json_object_get(message.content, "data");
    assert_non_null(strstr(json_string_value(json_object_get(data, "text/plain")), " (a/a, b/b, c/c, ...) "));
    published_fini(&message);
}

/* A name that is cut in the middle of a character must not let the output itself through. */
static void test_displays_with_a_type_name_cut_in_a_character_are_replaced(void **state) {
    static const char type[] = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xc3\xa9";
    const char *const types[] = {type, "a/a", "b/b"};
    struct published message = frames_take("display_data", content_with_types(types, 3), NULL, 0);
    (void)state;
    assert_true(displays_admit(&displays, &message, note, sizeof note));
    json_t *data = json_object_get(message.content, "data");
    assert_int_equal(json_object_size(data), 1);
    assert_non_null(strstr(json_string_value(json_object_get(data, "text/plain")), "x\xef\xbf\xbd, a/a, b/b) is not"));
    published_fini(&message);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_displays_within_the_limits_are_shown),
        TEST(test_displays_over_the_limit_in_any_part_are_replaced),
        TEST(test_displays_that_are_replaced_keep_execution_count_and_display_id),
        TEST(test_displays_with_buffers_over_the_limit_are_replaced),
        TEST(test_displays_over_their_number_are_dropped_with_one_note),
        TEST(test_displays_messages_that_do_not_count_are_bounded_together),
        TEST(test_displays_note_names_only_the_first_of_many_types),
        TEST(test_displays_with_a_type_name_cut_in_a_character_are_replaced),
        TEST(test_displays_error_over_the_limit_is_replaced_by_a_note),
        TEST(test_displays_comm_messages_over_the_limit_are_dropped_with_one_note),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
