#include "fixture.h"

#include "protocol/bytes.h"
#include "protocol/json_write.h"
#include "protocol/text.h"

#include <errno.h>
#include <string.h>

static void assert_written(const json_t *json, const char *expected) {
    auto_bytes out = {0};
    assert_int_equal(json_write(&out, json), 0);
    assert_true(bytes_ok(&out));
    assert_int_equal(out.n, strlen(expected));
    assert_memory_equal(out.data, expected, out.n);
}

/* Compact JSON comes out as it went in. */
static void test_write_parsed_compact_json_gives_the_same_text(void **state) {
    static const char *const texts[] = {
        "{}",
        "[]",
        "\"\"",
        "null",
        "[true,false,null]",
        "[0,-1,9223372036854775807,-9223372036854775808]",
        "[0.1,-0.5,1.0,1e+300,123456.789,1.7976931348623157e+308,4.94065645841247e-324,-0.0]",
        "{\"z\":1,\"a\":{\"b\":[{},[],\"\"]},\"\":2}",
        "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\x7f\"",
        "\"gr\xC3\xBCn \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x98\x80\"",
        "{\"k\\n\":\"v\"}",
    };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        json_auto_t *json = json_loads(texts[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        assert_non_null(json);
        assert_written(json, texts[i]);
    }
}

/* Strings that were never checked come out as UTF-8 all the same. */
static void test_write_invalid_utf8_becomes_replacement_characters(void **state) {
    (void)state;
    json_auto_t *array = json_array();
    assert_int_equal(json_array_append_new(array, json_string_nocheck("a\xFF\"\xE2\x82")), 0);
    assert_int_equal(json_array_append_new(array, json_string_nocheck("\xC3\xA9\xED\xA0\x80z")), 0);
    assert_written(array, "[\"a\xEF\xBF\xBD\\\"\xEF\xBF\xBD\",\"\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz\"]");
    json_auto_t *object = json_object();
    assert_int_equal(json_object_set_new_nocheck(object, "\x80", json_true()), 0);
    assert_written(object, "{\"\xEF\xBF\xBD\":true}");
}

/* Each fixture's bytes as a string, and what jansson's own parser reads from it. */
static void test_write_string_with_invalid_utf8_reads_back_as_in_python(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("broken_utf8.json");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        size_t n;
        size_t text_bytes;
        void *bytes = fixture_bytes(json_array_get(rows, i), "bytes", &n);
        void *text = fixture_bytes(json_array_get(rows, i), "text", &text_bytes);
        auto_bytes out = {0};
        json_write_string(&out, bytes, n);
        json_auto_t *json = json_loadb(out.data, out.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        json_auto_t *expected = json_stringn(text, text_bytes);
        if (json == NULL || !json_equal(json, expected))
            fail_msg("row %zu of broken_utf8.json differs", i);
        free(bytes);
        free(text);
    }
}

static json_t *nested(size_t depth) {
    json_t *json = json_array();
    while (--depth > 0) {
        json_t *outer = json_array();
        assert_int_equal(json_array_append_new(outer, json), 0);
        json = outer;
    }
    return json;
}

static void test_write_at_the_depth_limit_passes_and_deeper_is_refused(void **state) {
    (void)state;
    json_auto_t *deepest = nested(TEXT_DEPTH_LIMIT);
    json_auto_t *deeper = nested(TEXT_DEPTH_LIMIT + 1);
    auto_bytes out = {0};
    assert_int_equal(json_write(&out, deepest), 0);
    assert_int_equal(json_write(&out, deeper), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_write_parsed_compact_json_gives_the_same_text),
        cmocka_unit_test(test_write_invalid_utf8_becomes_replacement_characters),
        cmocka_unit_test(test_write_string_with_invalid_utf8_reads_back_as_in_python),
        cmocka_unit_test(test_write_at_the_depth_limit_passes_and_deeper_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
