/* What differs between two states, as text and HTML: of what workers say, which may be anything. */
#include "kernel/timeline/difference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define SAME_NAMES "none is new, gone, or of another type, size or number; what is in the others was not compared"

static void expect_shown(const char *before, const char *after, const char *files, const char *text) {
    json_t *one = before ? json_loads(before, 0, NULL) : NULL, *other = after ? json_loads(after, 0, NULL) : NULL,
           *listed = files ? json_loads(files, 0, NULL) : NULL;
    const struct difference difference = {.title = "From a to b", .names = {one, other}, .why = "why", .files = listed};
    json_t *data = difference_show(&difference);
    assert_non_null(data);
    assert_string_equal(json_string_value(json_object_get(data, "text/plain")), text);
    json_decref(data);
    json_decref(one);
    json_decref(other);
    json_decref(listed);
}

static void test_names_that_are_new_changed_and_gone_are_shown(void **state) {
    (void)state;
    expect_shown("[[\"gone\", \"list\", \"3 items\"], [\"same\", \"int\", \"1\"], [\"x\", \"int\", \"1\"]]",
                 "[[\"f\", \"function\", \"\"], [\"same\", \"int\", \"1\"], [\"x\", \"str\", \"2 characters\"]]", "[]",
                 "From a to b\n"
                 "Names:\n"
                 "+ f                    function\n"
                 "~ x     int, 1         str, 2 characters\n"
                 "- gone  list, 3 items\n"
                 "Files: none differs\n");
}

static void test_files_have_a_size_where_they_are(void **state) {
    (void)state;
    expect_shown("[]", "[]",
                 "[{\"path\": \"a\", \"change\": \"+\", \"bytes\": 2048}, {\"path\": \"b\", \"change\": \"-\", "
                 "\"bytes\": 1}]",
                 "From a to b\nNames: " SAME_NAMES "\nFiles:\n+ a    2.0 KiB\n- b\n");
}

/* A list of three items and another one are the same to it. */
static void test_names_of_one_type_and_size_are_said_to_be_no_more_than_that(void **state) {
    static const char names[] = "[[\"x\", \"list\", \"3 items\"]]";
    (void)state;
    expect_shown(names, names, "[]", "From a to b\nNames: " SAME_NAMES "\nFiles: none differs\n");
}

static void test_what_can_t_be_told_says_why(void **state) {
    (void)state;
    expect_shown(NULL, "[]", NULL, "From a to b\nNames: why\nFiles: they can't be told\n");
}

static void test_rows_that_are_none_are_left_out(void **state) {
    (void)state;
    expect_shown(
        "[]",
        "[1, [], [\"x\"], [\"y\", 1, 2], {\"a\": 1}, [\"z\\u001b[31m\", \"int\", \"1\\n2\"], [\"z\", \"a\", null]]",
        "[]", "From a to b\nNames:\n+ z?[31m    int, 1\nFiles: none differs\n");
}

static void test_names_beyond_the_number_that_is_shown_are_counted(void **state) {
    json_t *names = json_array(), *none = json_array();
    char name[16];
    (void)state;
    for (int i = 0; i < DIFFERENCE_ROWS_MAX + 7; i++) {
        snprintf(name, sizeof name, "n%d<", i);
        json_array_append_new(names, json_pack("[s, s, s]", name, "int", "1"));
    }
    json_t *data =
        difference_show(&(struct difference){.title = "t", .names = {none, names}, .files = none, .is_cut = true});
    assert_non_null(strstr(json_string_value(json_object_get(data, "text/plain")), "\nThere are more names or files"));
    assert_non_null(strstr(json_string_value(json_object_get(data, "text/plain")), "\nand 7 more\n"));
    const char *html = json_string_value(json_object_get(data, "text/html"));
    assert_non_null(strstr(html, "<code>n0&lt;</code>"));
    assert_null(strstr(html, "n507"));
    json_decref(data);
    json_decref(names);
    json_decref(none);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_that_are_new_changed_and_gone_are_shown),
        cmocka_unit_test(test_files_have_a_size_where_they_are),
        cmocka_unit_test(test_names_of_one_type_and_size_are_said_to_be_no_more_than_that),
        cmocka_unit_test(test_what_can_t_be_told_says_why),
        cmocka_unit_test(test_rows_that_are_none_are_left_out),
        cmocka_unit_test(test_names_beyond_the_number_that_is_shown_are_counted),
    };
    return cmocka_run_group_tests_name("difference", tests, NULL, NULL);
}
