/* What may be a name, and how the first line of code is shown. */
#include "kernel/base/image_name.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SIXTY_FOUR "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
    const char *name;
    const char *name_problem; /* a part of it, or NULL */
    const char *text_problem;
} rows[] = {
    {"clean", NULL, NULL},
    {"before-the-join.2", NULL, NULL},
    {"größe", NULL, NULL},
    {"名前", NULL, NULL},
    {"3a", NULL, NULL},
    {"\"x\"", NULL, NULL},
    {SIXTY_FOUR, NULL, NULL},
    {SIXTY_FOUR "x", "longer", "longer"},
    {"", "empty", "empty"},
    {"3", "number", NULL},
    {"007", "number", NULL},
    {"first", "beginning", NULL},
    {"0123abcd-4567-89ef-0123-456789abcdef", "id of a run", NULL},
    {"0123abcd-4567-89ef-0123-456789abcdeg", NULL, NULL},
    {"0123abcd-4567-89ef-0123-456789abcde", NULL, NULL},
    {"0123abcd-4567-89ef-0123+456789abcdef", NULL, NULL},
    {"a b", "space", "space"},
    {"a\tb", "space", "space"},
    {"a\u00a0b", "space", "space"},
    {"a\u3000b", "space", "space"},
    {"a\u2028b", "space", "space"},
    {"a\x1b[0m", "seen", "seen"},
    {"a\u200b", "seen", "seen"},
    {"a\u202e", "seen", "seen"},
    {"a\xff", "UTF-8", "UTF-8"},
    {"a\xc3", "UTF-8", "UTF-8"},
};

static void check(const char *name, const char *problem, const char *expected) {
    if ((problem == NULL) != (expected == NULL) || (problem && !strstr(problem, expected)))
        fail_msg("'%s': %s, not %s", name, problem ? problem : "nothing", expected ? expected : "nothing");
}

static void test_name_problem_of_each_row_is_found(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        check(rows[i].name, image_name_problem(rows[i].name), rows[i].name_problem);
        check(rows[i].name, image_name_text_problem(rows[i].name, strlen(rows[i].name)), rows[i].text_problem);
    }
}

static void test_text_problem_with_a_nul_is_found(void **state) {
    (void)state;
    check("a\\0b", image_name_text_problem("a\0b", 3), "seen");
}

static void check_line(const char *text, size_t bytes, size_t size, const char *expected) {
    char buf[64];
    memset(buf, 'x', sizeof buf);
    assert_ptr_equal(image_name_line(text, bytes, buf, size), buf);
    assert_string_equal(buf, expected);
    for (size_t i = size; i < sizeof buf; i++)
        assert_int_equal(buf[i], 'x');
}

static void test_line_is_the_first_that_is_not_blank(void **state) {
    static const struct {
        const char *text, *line;
    } lines[] = {
        {"a = 1", "a = 1"},
        {"\n \t\r\n  a = 1 \r\nb", "a = 1"},
        {"a\rb", "a"},
        {"# a comment\nb", "# a comment"},
        {"", ""},
        {" \n\t\n", ""},
        {"if a:\tb", "if a: b"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        check_line(lines[i].text, strlen(lines[i].text), 64, lines[i].line);
}

static void test_line_with_unseen_characters_has_question_marks(void **state) {
    static const char text[] = "a\x1b[31m\0\xff\u202e\u200bé\xc3";
    (void)state;
    check_line(text, sizeof text - 1, 64, "a?[31m????é?");
}

static void test_line_too_long_ends_in_an_ellipsis(void **state) {
    (void)state;
    check_line("abcdefg", 7, 8, "abcdefg");
    check_line("abcdefgh", 8, 8, "abcd…");
    check_line("abcdefgh  \n", 11, 9, "abcdefgh");
    check_line("abc", 3, 4, "abc");
    check_line("abcd", 4, 4, "…");
}

static void test_line_too_long_is_cut_between_characters(void **state) {
    (void)state;
    check_line("abcéfg", strlen("abcéfg"), 7, "abc…"); /* not between the two bytes of é */
    check_line("😀😀", 8, 8, "😀…");
    check_line("😀😀", 8, 7, "…");
    check_line("ééé", 6, 7, "ééé");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_name_problem_of_each_row_is_found),
        cmocka_unit_test(test_text_problem_with_a_nul_is_found),
        cmocka_unit_test(test_line_is_the_first_that_is_not_blank),
        cmocka_unit_test(test_line_with_unseen_characters_has_question_marks),
        cmocka_unit_test(test_line_too_long_ends_in_an_ellipsis),
        cmocka_unit_test(test_line_too_long_is_cut_between_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
