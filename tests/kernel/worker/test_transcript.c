#include "kernel/worker/transcript.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void say(struct transcript *transcript, const char *msg_type, json_t *content, size_t buffer_bytes) {
    char *text = json_dumps(content, JSON_COMPACT);
    transcript_message(transcript, msg_type, content, strlen(text), buffer_bytes > 0);
    free(text);
    json_decref(content);
}

static void expect_json(const json_t *json, const char *expected) {
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    assert_string_equal(text, expected);
    free(text);
}

static void test_transcript_keeps_outputs_in_their_order(void **state) {
    struct transcript transcript = {0};
    (void)state;
    transcript_stream(&transcript, "stdout", "one\n", 4);
    say(&transcript, "display_data", json_pack("{s:{s:s}, s:{}}", "data", "text/plain", "two", "metadata"), 0);
    transcript_stream(&transcript, "stderr", "three", 5);
    transcript_stream(&transcript, "stdout", "four", 4);
    say(&transcript, "comm_msg", json_pack("{s:s}", "comm_id", "x"), 0);
    say(&transcript, "execute_result", json_pack("{s:{s:s}, s:i}", "data", "text/plain", "5", "execution_count", 1), 0);
    expect_json(transcript.outputs,
                "[{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":\"one\\n\"},"
                "{\"data\":{\"text/plain\":\"two\"},\"metadata\":{},\"output_type\":\"display_data\"},"
                "{\"name\":\"stderr\",\"output_type\":\"stream\",\"text\":\"three\"},"
                "{\"name\":\"stdout\",\"output_type\":\"stream\",\"text\":\"four\"},"
                "{\"data\":{\"text/plain\":\"5\"},\"execution_count\":1,\"output_type\":\"execute_result\"}]");
    expect_json(transcript.result, "{\"text/plain\":\"5\"}");
    json_t *text = transcript_text(&transcript, OUTPUT_STDOUT);
    assert_string_equal(json_string_value(text), "one\nfour");
    json_decref(text);
    assert_false(transcript.cut);
    transcript_fini(&transcript);
}

static void test_transcript_over_its_size_keeps_the_beginning_and_is_cut(void **state) {
    struct transcript transcript = {0};
    char *chunk = malloc(1 << 19);
    (void)state;
    memset(chunk, 'x', 1 << 19);
    transcript_stream(&transcript, "stdout", "ab", 2);
    for (int i = 0; i < 2; i++)
        transcript_stream(&transcript, "stdout", chunk, 1 << 19);
    assert_true(transcript.cut);
    transcript_stream(&transcript, "stdout", "late", 4);
    transcript_stream(&transcript, "stderr", "other", 5);
    json_t *text = transcript_text(&transcript, OUTPUT_STDOUT);
    assert_int_equal(json_string_length(text), TRANSCRIPT_STREAM_BYTES);
    json_decref(text);
    text = transcript_text(&transcript, OUTPUT_STDERR);
    assert_string_equal(json_string_value(text), "other");
    json_decref(text);
    transcript_fini(&transcript);
    free(chunk);
}

static void test_transcript_without_an_output_too_large_is_marked_cut(void **state) {
    struct transcript transcript = {0};
    char *large = calloc(1, TRANSCRIPT_RICH_BYTES + 1);
    (void)state;
    memset(large, 'x', TRANSCRIPT_RICH_BYTES);
    say(&transcript, "display_data", json_pack("{s:{s:s}, s:{}}", "data", "image/png", large, "metadata"), 0);
    assert_null(transcript.outputs);
    assert_true(transcript.cut);
    assert_false(transcript.result_cut);
    /* One of several results is not kept: the one before it is not the result. */
    say(&transcript, "execute_result", json_pack("{s:{s:s}}", "data", "text/plain", "5"), 0);
    say(&transcript, "execute_result", json_pack("{s:{s:s}}", "data", "text/plain", large), 0);
    assert_null(transcript.result);
    assert_true(transcript.result_cut);
    say(&transcript, "execute_result", json_pack("{s:{s:s}}", "data", "text/plain", "6"), 0);
    assert_non_null(transcript.result);
    assert_false(transcript.result_cut);
    transcript_fini(&transcript);
    free(large);
}

static void test_transcript_with_buffers_is_marked_cut(void **state) {
    struct transcript transcript = {0};
    (void)state;
    say(&transcript, "display_data", json_pack("{s:{s:s}, s:{}}", "data", "text/plain", "x", "metadata"), 8);
    assert_true(transcript.cut);
    transcript_fini(&transcript);
}

/* A row takes hundreds of bytes, whatever it says: what a stream says in pieces is joined, and rows have a number. */
static void test_transcript_of_many_small_pieces_has_few_rows(void **state) {
    struct transcript transcript = {0};
    (void)state;
    for (int i = 0; i < 100000; i++)
        transcript_stream(&transcript, "stdout", "x", 1);
    assert_true(json_array_size(transcript.outputs) <= 25);
    assert_false(transcript.cut);
    for (int i = 0; i < 2 * TRANSCRIPT_ROWS; i++)
        transcript_stream(&transcript, i % 2 ? "stdout" : "stderr", "y", 1);
    assert_int_equal(json_array_size(transcript.outputs), TRANSCRIPT_ROWS);
    assert_true(transcript.cut);
    json_t *text = transcript_text(&transcript, OUTPUT_STDOUT);
    assert_true(json_string_length(text) > 100000);
    json_decref(text);
    transcript_fini(&transcript);
}

/* "1," is two bytes of text, and some forty in memory. */
static void test_transcript_of_too_many_values_is_cut(void **state) {
    struct transcript transcript = {0};
    json_t *list = json_array();
    (void)state;
    for (int i = 0; i < TRANSCRIPT_VALUES; i++)
        json_array_append_new(list, json_integer(1));
    say(&transcript, "display_data", json_pack("{s:{s:o}}", "data", "application/json", list), 0);
    assert_null(transcript.outputs);
    assert_true(transcript.cut);
    transcript_fini(&transcript);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transcript_keeps_outputs_in_their_order),
        cmocka_unit_test(test_transcript_over_its_size_keeps_the_beginning_and_is_cut),
        cmocka_unit_test(test_transcript_without_an_output_too_large_is_marked_cut),
        cmocka_unit_test(test_transcript_with_buffers_is_marked_cut),
        cmocka_unit_test(test_transcript_of_many_small_pieces_has_few_rows),
        cmocka_unit_test(test_transcript_of_too_many_values_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
