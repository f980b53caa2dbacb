#include "kernel/worker/failure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static json_t *reply_of(const char *traceback) {
    json_t *reply =
        json_pack("{s:s, s:s, s:[s, s]}", "ename", "ValueError", "evalue", "no", "traceback", "first", traceback);
    assert_non_null(reply);
    return reply;
}

static json_t *failure_of(const char *traceback, const struct failure_source *source) {
    json_t *reply = reply_of(traceback);
    json_t *json = failure_json(reply, source);
    assert_non_null(json);
    json_decref(reply);
    return json;
}

static void test_failure_position_is_the_innermost_line_of_the_cell(void **state) {
    static const struct {
        const char *traceback;
        struct failure_source source;
        int line;
        int column;
    } rows[] = {
        {"Cell In[3], line 5\n  x\nCell In[3], line 2, in f()", {"", 3, FAILURE_INNERMOST_LAST}, 2, 0},
        {"Cell In[3], line 5\nFile lib.py:9\nCell In[2], line 7", {"", 3, FAILURE_INNERMOST_LAST}, 5, 0},
        {"  Cell In[2], line 7 in g\n  Cell In[3], line 1 in h\n  Cell In[3], line 2 in <module>",
         {"", 3, FAILURE_INNERMOST_FIRST},
         1,
         0},
        {"\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[1]\x1b[39m\x1b[32m, line 4\x1b[39m",
         {"", 1, FAILURE_INNERMOST_LAST},
         4,
         0},
        {"  Cell In[1], line 2\n    foo( = 3\n         ^\nSyntaxError: invalid syntax",
         {"if x:\n    foo( = 3\n", 1, FAILURE_INNERMOST_LAST},
         2,
         10},
        {"  Cell In[1], line 1\n    a bc\n    ^^^^\nSyntaxError", {"a bc", 1, FAILURE_INNERMOST_LAST}, 1, 1},
        {"  Cell In[1], line 9\n    a bc\n    ^\nSyntaxError", {"a bc", 1, FAILURE_INNERMOST_LAST}, 9, 1},
        {"Cell In[1], line 1\n    parse(x)\n\nFile <unknown>:1\n    a b\n      ^",
         {"parse(x)", 1, FAILURE_INNERMOST_LAST},
         1,
         0},
        {"Cell In[1], line 1\n    x\n  ^\n", {"x", 1, FAILURE_INNERMOST_LAST}, 1, 0},
        {"Cell In[1], line x", {"", 1, FAILURE_INNERMOST_LAST}, 0, 0},
        {"", {"", 1, FAILURE_INNERMOST_LAST}, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *json = failure_of(rows[i].traceback, &rows[i].source);
        assert_int_equal(json_integer_value(json_object_get(json, "line")), rows[i].line);
        assert_int_equal(json_object_get(json, "line") != NULL, rows[i].line > 0);
        assert_int_equal(json_integer_value(json_object_get(json, "column")), rows[i].column);
        assert_int_equal(json_object_get(json, "column") != NULL, rows[i].column > 0);
        json_decref(json);
    }
}

static void test_failure_traceback_has_lines_without_colours(void **state) {
    json_t *json = failure_of("a\x1b[0;31mb\x1b[0m\n\nc\x1b[", &(struct failure_source){.code = ""});
    json_t *expected = json_pack("[s, s, s, s]", "first", "ab", "", "c");
    (void)state;
    assert_true(json_equal(json_object_get(json, "traceback"), expected));
    json_decref(expected);
    json_decref(json);
}

static void test_failure_traceback_keeps_the_last_lines_and_cuts_long_ones(void **state) {
    char *text = calloc(1, 3000 + 1000 + 1);
    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 1000; i++)
        memcpy(text + 2 * i, "x\n", 2);
    memset(text + 2000, 'y', 1000);
    json_t *json = failure_of(text, &(struct failure_source){.code = ""});
    const json_t *lines = json_object_get(json, "traceback");
    assert_int_equal(json_array_size(lines), 200);
    assert_int_equal(json_string_length(json_array_get(lines, 199)), 500);
    assert_int_equal(json_string_value(json_array_get(lines, 199))[499], 'y');
    json_decref(json);
    free(text);
}

static void test_failure_with_fields_of_the_wrong_type_is_still_reported(void **state) {
    json_t *reply = json_pack("{s:i, s:[i, s]}", "ename", 1, "traceback", 2, "x");
    json_t *json = failure_json(reply, &(struct failure_source){.code = ""});
    (void)state;
    assert_string_equal(json_string_value(json_object_get(json, "ename")), "");
    assert_int_equal(json_array_size(json_object_get(json, "traceback")), 1);
    json_decref(json);
    json_decref(reply);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failure_position_is_the_innermost_line_of_the_cell),
        cmocka_unit_test(test_failure_traceback_has_lines_without_colours),
        cmocka_unit_test(test_failure_traceback_keeps_the_last_lines_and_cuts_long_ones),
        cmocka_unit_test(test_failure_with_fields_of_the_wrong_type_is_still_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
