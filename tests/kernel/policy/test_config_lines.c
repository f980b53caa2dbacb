/* In which line of a configuration's text a key stands. */
#include "kernel/policy/config_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "{\n"
                           "  \"a\": {\n"
                           "    \"b\": [\"c\", {\"b\": 1}],\n"
                           "    \"c\": \"\\\"b\\\": {\"\n"
                           "  },\n"
                           "  \"b\" :\n"
                           "    {\"a\": {\n"
                           "      \"b\": 2}},\n"
                           "  \"a\": {\"d\": 1,\n"
                           "        \"e\": 2}\n"
                           "}\n";

static void test_config_line_of_a_place(void **state) {
    static const struct {
        struct config_place place;
        unsigned line;
    } rows[] = {
        {{{"a"}, 1}, 9},           {{{"b"}, 1}, 6}, {{{"a", "b"}, 2}, 9}, {{{"a", "e"}, 2}, 10},   {{{"b", "a"}, 2}, 7},
        {{{"b", "a", "b"}, 3}, 8}, {{{0}, 0}, 1},   {{{"none"}, 1}, 1},   {{{"b", "none"}, 2}, 6},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(config_line(text, sizeof text - 1, &rows[i].place), rows[i].line);
}

static void test_config_line_of_text_that_ends_anywhere_is_in_it(void **state) {
    const struct config_place place = {{"b", "a", "b"}, 3};
    (void)state;
    for (size_t n = 0; n < sizeof text; n++) {
        unsigned line = config_line(text, n, &place);
        assert_true(line >= 1 && line <= 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_config_line_of_a_place),
        cmocka_unit_test(test_config_line_of_text_that_ends_anywhere_is_in_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
