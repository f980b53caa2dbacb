#include "fixture.h"

#include "protocol/text.h"
#include "protocol/utf8.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 16

/* Text that is no JSON, or too deep. */
static const struct {
    const char *name;
    const char *text;
    size_t bytes;
} refused[] = {
#define REFUSED(name, text)                                                                                            \
    { name, text, sizeof(text) - 1 }
    REFUSED("nothing", ""),
    REFUSED("white space", " \t\r\n"),
    REFUSED("form feed", "\f1"),
    REFUSED("byte order mark", "\xEF\xBB\xBF{}"),
    REFUSED("a bare word", "nul"),
    REFUSED("a longer word", "nullx"),
    REFUSED("NaN", "NaN"),
    REFUSED("infinity", "-Infinity"),
    REFUSED("two values", "1 2"),
    REFUSED("something after", "{}x"),
    REFUSED("NUL after", "{}\0"),
    REFUSED("NUL before", "\0{}"),
    REFUSED("open array", "["),
    REFUSED("open array after comma", "[1,"),
    REFUSED("trailing comma", "[1,]"),
    REFUSED("leading comma", "[,1]"),
    REFUSED("missing comma", "[1 2]"),
    REFUSED("wrong bracket", "[1}"),
    REFUSED("closed only", "]"),
    REFUSED("open object", "{"),
    REFUSED("object without value", "{\"a\"}"),
    REFUSED("object without colon", "{\"a\" 1}"),
    REFUSED("object with trailing comma", "{\"a\":1,}"),
    REFUSED("key is no string", "{1:1}"),
    REFUSED("key without quotes", "{a:1}"),
    REFUSED("open key", "{\"a"),
    REFUSED("open string", "\"a"),
    REFUSED("single quotes", "'a'"),
    REFUSED("raw line feed in string", "\"\n\""),
    REFUSED("raw NUL in string", "\"\0\""),
    REFUSED("unknown escape", "\"\\x41\""),
    REFUSED("escaped NUL byte", "\"\\\0\""),
    REFUSED("escape at the end", "\"\\"),
    REFUSED("open unicode escape", "\"\\u12"),
    REFUSED("open unicode escape, closed string", "\"\\u12\""),
    REFUSED("unicode escape without hex", "\"\\u00g0\""),
    REFUSED("unicode escape with a sign", "\"\\u+123\""),
    REFUSED("bytes over ASCII outside of strings", "\xC3\xA9"),
    REFUSED("leading zero", "01"),
    REFUSED("leading plus", "+1"),
    REFUSED("minus alone", "-"),
    REFUSED("no digits before the point", ".5"),
    REFUSED("no digits after the point", "1."),
    REFUSED("no digits in the exponent", "1e"),
    REFUSED("only a sign in the exponent", "1e+"),
    REFUSED("hexadecimal", "0x10"),
    REFUSED("too deep", "[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]"),
    REFUSED("too deep and open", "[[[[[[[[[[[[[[[[["),
    REFUSED("too deep with objects", "[[[[[[[[[[[[[[[[{\"a\":1}]]]]]]]]]]]]]]]]"),
};

static void test_parse_invalid_json_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        json_t *json = NULL;
        int r = text_parse(refused[i].text, refused[i].bytes, DEPTH, &json);
        if (r != -EBADMSG || json != NULL)
            fail_msg("%s: %d", refused[i].name, r);
        assert_null(text_parse_json(refused[i].text, refused[i].bytes, DEPTH));
    }
}

/* Text, and the same value in text that jansson's own parser takes. */
static const struct {
    const char *text;
    const char *same;
} mended[] = {
    {" 1 ", "1"},
    {"\n[ ]\r", "[]"},
    {"[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]", "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]"},
    {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
    {"{\"\":{}}", "{\"\":{}}"},
    {"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""},
    {"\"\\u00e9\\uD83D\\uDE00\"", "\"\xC3\xA9\xF0\x9F\x98\x80\""},
    {"\"\\u0000a\\u0000\"", "\"\\u0000a\\u0000\""},
    {"{\"\\u0000a\\u0000\":1}", "{\"\\uFFFDa\\uFFFD\":1}"},
    {"\"\\ud800\"", "\"\\uFFFD\""},
    {"\"\\udc00\"", "\"\\uFFFD\""},
    {"\"\\ud800\\ud800\\udc00\"", "\"\\uFFFD\\uD800\\uDC00\""},
    {"\"\\ud800\\ue000\"", "\"\\uFFFD\\uE000\""},
    {"\"\\udbff\\udfff\"", "\"\xF4\x8F\xBF\xBF\""},
    {"\"\\ud800\\u0041\"", "\"\\uFFFDA\""},
    {"\"\\ud800\\n\"", "\"\\uFFFD\\n\""},
    {"{\"\\ud800\":\"\xFF\"}", "{\"\\uFFFD\":\"\\uFFFD\"}"},
    {"9223372036854775807", "9223372036854775807"},
    {"-9223372036854775808", "-9223372036854775808"},
    {"9223372036854775808", "9223372036854775808.0"},
    {"-9223372036854775809", "-9223372036854775809.0"},
    {"[-0, 0, 1E2, 1e-2, 0.5, -0.0]", "[0, 0, 100.0, 0.01, 0.5, -0.0]"},
    {"[1e400, -1e400, 1e-400]", "[1.7976931348623157e308, -1.7976931348623157e308, 0.0]"},
    {"[true,false,null]", "[true,false,null]"},
};

static void test_parse_odd_json_gives_the_value_that_jansson_can_hold(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof mended / sizeof mended[0]; i++) {
        json_auto_t *same = json_loads(mended[i].same, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        json_auto_t *json = text_parse_json(mended[i].text, strlen(mended[i].text), DEPTH);
        assert_non_null(same);
        if (json == NULL || !json_equal(json, same))
            fail_msg("%s is not taken as %s", mended[i].text, mended[i].same);
    }
}

static void test_parse_integer_of_a_million_digits_is_greatest_real(void **state) {
    (void)state;
    size_t n = 1000000;
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, '9', n + 1);
    text[0] = '-';
    json_auto_t *json = text_parse_json(text, n + 1, 0);
    assert_true(json_is_real(json));
    assert_true(json_real_value(json) <= -DBL_MAX);
    free(text);
}

static void test_parse_depth_of_millions_is_refused(void **state) {
    (void)state;
    size_t n = 4000000;
    char *text = malloc(n);
    assert_non_null(text);
    memset(text, '[', n);
    json_t *json;
    assert_int_equal(text_parse(text, n, SIZE_MAX, &json), -EBADMSG);
    free(text);
}

/* What a value takes is counted before it is made, by its kind. */
static void test_parse_of_more_values_than_the_cap_is_refused(void **state) {
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"1", 1},
        {"\"[1,2,3]\"", 1},
        {"[]", TEXT_CONTAINER_COUNT},
        {"{}", TEXT_CONTAINER_COUNT},
        {"[1,true,\"x\"]", TEXT_CONTAINER_COUNT + 3},
        {"{\"a\":1,\"b\":[]}", TEXT_CONTAINER_COUNT + 2 + 1 + TEXT_CONTAINER_COUNT},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json = NULL;
        size_t bytes = strlen(rows[i].text);
        assert_int_equal(text_parse_capped(rows[i].text, bytes, DEPTH, rows[i].count - 1, &json), -E2BIG);
        assert_null(json);
        assert_int_equal(text_parse_capped(rows[i].text, bytes, DEPTH, rows[i].count, &json), 0);
        json_decref(json);
    }
}

static void test_parse_depth_zero_takes_only_plain_values(void **state) {
    (void)state;
    json_auto_t *number = text_parse_json("7", 1, 0);
    assert_int_equal(json_integer_value(number), 7);
    assert_null(text_parse_json("[]", 2, 0));
    json_auto_t *siblings = text_parse_json("[[],[],{}]", 10, 2);
    assert_int_equal(json_array_size(siblings), 3);
}

/* Each fixture's bytes as a string in JSON and as plain bytes. */
static void test_invalid_utf8_is_replaced_as_python_does(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("broken_utf8.json");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        size_t n;
        size_t text_bytes;
        void *bytes = fixture_bytes(json_array_get(rows, i), "bytes", &n);
        void *text = fixture_bytes(json_array_get(rows, i), "text", &text_bytes);
        json_auto_t *json = text_to_json(bytes, n);
        json_auto_t *expected = json_stringn(text, text_bytes);
        if (expected == NULL || !json_equal(json, expected))
            fail_msg("row %zu of broken_utf8.json differs", i);
        bool same = n == text_bytes && memcmp(bytes, text, n) == 0;
        assert_int_equal(utf8_valid(bytes, n) == n, same);
        free(bytes);
        free(text);
    }
}

static void test_invalid_utf8_in_json_is_replaced_as_python_does(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("broken_utf8.json");
    size_t n_tried = 0;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        size_t n;
        size_t text_bytes;
        char *bytes = fixture_bytes(json_array_get(rows, i), "bytes", &n);
        void *text = fixture_bytes(json_array_get(rows, i), "text", &text_bytes);
        if (memchr(bytes, '"', n) == NULL && memchr(bytes, '\\', n) == NULL && memchr(bytes, '\0', n) == NULL) {
            char quoted[256];
            int quoted_bytes = snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)n, bytes);
            json_auto_t *json = text_parse_json(quoted, (size_t)quoted_bytes, 0);
            json_auto_t *expected = json_stringn(text, text_bytes);
            if (!json_equal(json, expected))
                fail_msg("row %zu of broken_utf8.json differs", i);
            n_tried++;
        }
        free(bytes);
        free(text);
    }
    assert_true(n_tried > 50);
}

static void test_whole_utf8_holds_back_only_an_incomplete_character(void **state) {
    static const struct {
        const char *text;
        size_t whole;
    } rows[] = {
        {"", 0},
        {"a", 1},
        {"a\xC3", 1},
        {"a\xC3\xA9", 3},
        {"\xE2\x82", 0},
        {"a\xE2", 1},
        {"\xE2\x82\xAC", 3},
        {"\xF0\x9F\x98", 0},
        {"x\xF0\x9F", 1},
        {"\xF0\x9F\x98\x80", 4},
        {"\xFF", 1},
        {"\x80\x80\x80", 3},
        {"\xED\xA0", 2},
        {"\xF0\x9F\x98z", 4},
        {"\xC3\xC3", 1},
        {"\xE0\x80", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(text_whole_utf8(rows[i].text, strlen(rows[i].text)), rows[i].whole);
}

/* A long text of every length of character, cut in two at each place and joined again. */
static void test_whole_utf8_cut_anywhere_loses_nothing(void **state) {
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
    (void)state;
    for (size_t cut = 0; cut < sizeof text; cut++) {
        size_t whole = text_whole_utf8(text, cut);
        assert_in_range(cut - whole, 0, 3);
        assert_int_equal(utf8_valid((const unsigned char *)text, whole), whole);
        size_t rest = sizeof text - 1 - whole;
        assert_int_equal(utf8_valid((const unsigned char *)text + whole, rest), rest);
    }
}

/* Whatever stands before and after a byte, the eight-at-once paths find it. */
static void test_utf8_scans_find_each_byte_at_each_position(void **state) {
    (void)state;
    for (size_t place = 0; place < 20; place++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            unsigned char text[20];
            memset(text, 'x', sizeof text);
            text[place] = (unsigned char)byte;
            bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
            assert_int_equal(utf8_plain(text, sizeof text), plain ? sizeof text : place);
            assert_int_equal(utf8_valid(text, sizeof text), byte < 0x80 ? sizeof text : place);
        }
    }
}

static void test_encode_each_code_point_reads_back(void **state) {
    (void)state;
    for (uint32_t code = 0; code <= 0x10FFFF; code++) {
        if (code >= 0xD800 && code <= 0xDFFF)
            continue;
        char text[4];
        size_t n = utf8_encode(code, text);
        size_t bytes;
        if (utf8_next((unsigned char *)text, n, &bytes) != UTF8_WHOLE || bytes != n)
            fail_msg("U+%04X doesn't read back", code);
    }
}

static void test_text_format_replaces_a_character_cut_by_a_precision(void **state) {
    (void)state;
    json_t *json = text_format("%.2s%s", "x\xc3\xa9", "y");
    assert_string_equal(json_string_value(json), "x" UTF8_REPLACEMENT "y");
    json_decref(json);
}

static void test_text_in_gives_the_text_of_a_member_or_an_empty_one(void **state) {
    json_t *object = json_pack("{s:s, s:i}", "text", "here", "number", 1);
    (void)state;
    assert_string_equal(text_in(object, "text"), "here");
    assert_string_equal(text_in(object, "number"), "");
    assert_string_equal(text_in(object, "none"), "");
    assert_string_equal(text_in(NULL, "text"), "");
    json_decref(object);
}

/* Each kind of value counts with what is in it, and once more wherever it stands. */
static void test_text_memory_is_more_than_all_texts_and_values(void **state) {
    json_t *inner = json_pack("{s:s, s:[i, f, b, n]}", "key", "0123456789", "list", 1, 2.0, 1);
    (void)state;
    assert_int_equal(text_memory(NULL), 0);
    assert_true(text_memory(inner) > strlen("key0123456789list") + 6 * sizeof(json_t));
    json_t *outer = json_pack("{s:O, s:[O, O]}", "a", inner, "b", inner, inner);
    assert_true(text_memory(outer) > 3 * text_memory(inner));
    json_decref(outer);
    json_decref(inner);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_invalid_json_is_refused),
        cmocka_unit_test(test_parse_odd_json_gives_the_value_that_jansson_can_hold),
        cmocka_unit_test(test_parse_integer_of_a_million_digits_is_greatest_real),
        cmocka_unit_test(test_parse_depth_of_millions_is_refused),
        cmocka_unit_test(test_parse_of_more_values_than_the_cap_is_refused),
        cmocka_unit_test(test_parse_depth_zero_takes_only_plain_values),
        cmocka_unit_test(test_invalid_utf8_is_replaced_as_python_does),
        cmocka_unit_test(test_invalid_utf8_in_json_is_replaced_as_python_does),
        cmocka_unit_test(test_whole_utf8_holds_back_only_an_incomplete_character),
        cmocka_unit_test(test_whole_utf8_cut_anywhere_loses_nothing),
        cmocka_unit_test(test_utf8_scans_find_each_byte_at_each_position),
        cmocka_unit_test(test_encode_each_code_point_reads_back),
        cmocka_unit_test(test_text_format_replaces_a_character_cut_by_a_precision),
        cmocka_unit_test(test_text_in_gives_the_text_of_a_member_or_an_empty_one),
        cmocka_unit_test(test_text_memory_is_more_than_all_texts_and_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
