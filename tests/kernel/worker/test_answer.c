#include "kernel/worker/answer.h"

#include "tests/kernel/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct limits limits;
static struct answer_terms terms;
static uint64_t dropped_bytes;

static int setup(void **state) {
    (void)state;
    limits = (struct limits){0};
    limits.values[LIMIT_DISPLAY] = 256;
    limits.values[LIMIT_CODE] = 128;
    terms = (struct answer_terms){.limits = &limits, .profile = PROFILE_NOTEBOOK};
    return 0;
}

/* What goes on of a reply, which is stolen: the caller's. */
static json_t *answer(json_t *reply) {
    assert_non_null(reply);
    json_t *content = answer_execute(&terms, reply, &dropped_bytes);
    assert_non_null(content);
    json_decref(reply);
    return content;
}

static void expect_json(json_t *json, const char *expected) {
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

static void expect_payload(const char *payload, const char *expected) {
    json_t *content = answer(json_pack("{s:o}", "payload", json_loads(payload, 0, NULL)));
    expect_json(json_incref(json_object_get(content, "payload")), expected);
    json_decref(content);
}

static void test_answer_within_its_limits_is_unchanged(void **state) {
    static const char *const replies[] = {
        "{\"status\":\"ok\",\"user_expressions\":{},\"payload\":[]}",
        "{\"status\":\"error\",\"ename\":\"E\",\"evalue\":\"x\",\"traceback\":[\"a\"],\"user_expressions\":{},"
        "\"payload\":[{\"source\":\"page\",\"data\":{\"text/plain\":\"x\"},\"start\":0},"
        "{\"source\":\"set_next_input\",\"text\":\"x = 1\",\"replace\":true},"
        "{\"source\":\"ask_exit\",\"keepkernel\":false}]}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        expect_json(answer(json_loads(replies[i], 0, NULL)), replies[i]);
        assert_int_equal(dropped_bytes, 0);
    }
}

static void test_answer_fields_unknown_or_of_wrong_kinds_are_dropped_and_counted(void **state) {
    (void)state;
    expect_json(answer(json_loads("{\"status\":\"ok\",\"payload\":{\"x\":1},\"user_expressions\":5,\"ename\":7,"
                                  "\"traceback\":[1],\"more\":\"xxxx\"}",
                                  0, NULL)),
                "{\"status\":\"ok\"}");
    assert_true(dropped_bytes > strlen("\"more\":\"xxxx\""));
}

static void test_answer_fields_are_those_of_their_reply(void **state) {
    json_t *reply = json_loads("{\"status\":\"ok\",\"matches\":[\"a\"],\"cursor_start\":0,\"cursor_end\":1,"
                               "\"metadata\":{},\"found\":true,\"data\":{},\"indent\":\"  \",\"payload\":[]}",
                               0, NULL);
    (void)state;
    expect_json(answer_fields(ANSWER_COMPLETE, reply),
                "{\"status\":\"ok\",\"matches\":[\"a\"],\"cursor_start\":0,\"cursor_end\":1,\"metadata\":{}}");
    expect_json(answer_fields(ANSWER_INSPECT, reply), "{\"status\":\"ok\",\"found\":true,\"data\":{},\"metadata\":{}}");
    expect_json(answer_fields(ANSWER_IS_COMPLETE, reply), "{\"status\":\"ok\",\"indent\":\"  \"}");
    json_decref(reply);
}

/* qtconsole starts an editor for edit_magic, through a shell. */
static void test_answer_payload_of_an_unknown_source_is_dropped(void **state) {
    (void)state;
    expect_payload("[{\"source\":\"edit_magic\",\"filename\":\"x\\\"; touch y\",\"line_number\":0}]", "[]");
    assert_true(dropped_bytes > 0);
    expect_payload("[{\"source\":\"other\"},{\"text\":\"no source\"},7,\"x\"]", "[]");
}

static void test_answer_payload_keys_are_checked(void **state) {
    (void)state;
    expect_payload("[{\"source\":\"set_next_input\",\"text\":7}]", "[]");
    expect_payload("[{\"source\":\"set_next_input\",\"text\":\"x\",\"replace\":\"yes\",\"more\":{}}]",
                   "[{\"source\":\"set_next_input\",\"text\":\"x\"}]");
    expect_payload("[{\"source\":\"page\",\"data\":\"x\",\"start\":0}]", "[]");
    expect_payload("[{\"source\":\"page\",\"data\":{},\"start\":-1}]", "[{\"source\":\"page\",\"data\":{}}]");
    expect_payload("[{\"source\":\"ask_exit\",\"keepkernel\":7}]", "[]");
}

static void test_answer_payload_has_the_last_of_each_source(void **state) {
    (void)state;
    expect_payload("[{\"source\":\"set_next_input\",\"text\":\"a\"},{\"source\":\"set_next_input\",\"text\":\"b\"}]",
                   "[{\"source\":\"set_next_input\",\"text\":\"b\"}]");
}

static void test_answer_ask_exit_in_profile_strict_is_dropped(void **state) {
    (void)state;
    terms.profile = PROFILE_STRICT;
    expect_payload("[{\"source\":\"ask_exit\",\"keepkernel\":false},{\"source\":\"set_next_input\",\"text\":\"a\"}]",
                   "[{\"source\":\"set_next_input\",\"text\":\"a\"}]");
}

static void test_answer_over_its_limits_says_so(void **state) {
    json_t *payload = json_pack("[{s:s, s:{s:o}, s:i}, {s:s, s:o}]", "source", "page", "data", "text/plain",
                                frames_text(300), "start", 3, "source", "set_next_input", "text", frames_text(128));
    json_t *content = answer(json_pack("{s:s, s:s, s:o, s:[], s:o}", "status", "error", "ename", "E", "evalue",
                                       frames_text(300), "traceback", "payload", payload));
    (void)state;
    json_t *page = json_array_get(json_object_get(content, "payload"), 0);
    assert_int_equal(json_array_size(json_object_get(content, "payload")), 1);
    assert_non_null(strstr(json_string_value(json_object_get(json_object_get(page, "data"), "text/plain")),
                           "is not shown: it is over the limit of 256 bytes (display)."));
    assert_non_null(strstr(json_string_value(json_object_get(content, "evalue")), "an error of 3"));
    assert_true(dropped_bytes > 400);
    json_decref(content);
}

static void test_answer_expressions_are_those_asked_for_within_the_limit(void **state) {
    json_t *asked = json_pack("{s:s, s:s}", "a", "1", "b", "2");
    terms.expressions = asked;
    (void)state;
    json_t *content = answer(json_pack("{s:{s:{s:o}, s:{s:s}, s:{s:s}, s:i}}", "user_expressions", "a", "data",
                                       frames_text(300), "b", "status", "ok", "c", "status", "ok", "d", 7));
    json_t *results = json_object_get(content, "user_expressions");
    assert_int_equal(json_object_size(results), 2);
    assert_string_equal(json_string_value(json_object_get(json_object_get(results, "a"), "status")), "error");
    assert_string_equal(json_string_value(json_object_get(json_object_get(results, "b"), "status")), "ok");
    json_decref(content);
    json_decref(asked);
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_answer_within_its_limits_is_unchanged),
        TEST(test_answer_fields_unknown_or_of_wrong_kinds_are_dropped_and_counted),
        TEST(test_answer_fields_are_those_of_their_reply),
        TEST(test_answer_payload_of_an_unknown_source_is_dropped),
        TEST(test_answer_payload_keys_are_checked),
        TEST(test_answer_payload_has_the_last_of_each_source),
        TEST(test_answer_ask_exit_in_profile_strict_is_dropped),
        TEST(test_answer_over_its_limits_says_so),
        TEST(test_answer_expressions_are_those_asked_for_within_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
