#include "kernel/base/terminal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *text, *shown;
} rows[] = {
    {"a\tb\nc", "a\tb\nc"},
    {"\x1b[31mred\x1b[0m \x07\x08\r\x7f", "?[31mred?[0m ????"},
    {"\xc2\x9b"
     "31m \xc2\x85",
     "?31m ?"},                                                                   /* C1 */
    {"evil\xe2\x80\xaetxt.exe", "evil?txt.exe"},                                  /* U+202E */
    {"\xe2\x81\xa6x\xe2\x81\xa9\xd8\x9c\xe2\x80\x8f", "?x???"},                   /* isolates, U+061C, U+200F */
    {"a\xe2\x80\x8b\xe2\x81\xa0\xef\xbb\xbf\xc2\xad\xe2\x80\x8d\x62", "a?????b"}, /* of no width */
    {"a\xe2\x80\xa8\xe2\x80\xa9", "a??"},                                         /* U+2028, U+2029 */
    {"a\xf3\xa0\x81\x81\xf3\xa0\x84\x80\xef\xb8\x8f", "a???"},                    /* a tag, variation selectors */
    {"\xff \xe2\x82 \xed\xa0\x80", "? ? ???"},                                    /* no UTF-8 */
    {"\xc3\xa4 \xe2\x82\xac \xe6\x97\xa5\xe6\x9c\xac", "\xc3\xa4 \xe2\x82\xac \xe6\x97\xa5\xe6\x9c\xac"},
    /* As Persian and emoji are written. */
    {"\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae \xe2\x9d\xa4\xef\xb8\x8f",
     "\xd9\x85\xdb\x8c\xe2\x80\x8c\xd8\xae \xe2\x9d\xa4\xef\xb8\x8f"},
};

static void test_terminal_text_with_unseen_characters_shows_question_marks(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        auto_bytes out = {0};
        terminal_append(&out, rows[i].text, strlen(rows[i].text), false);
        bytes_append(&out, "", 1);
        assert_string_equal(out.data, rows[i].shown);
    }
}

static void test_terminal_text_of_one_line_has_no_line_end(void **state) {
    auto_bytes out = {0};
    (void)state;
    terminal_append(&out, "a\nb\0c", 5, true);
    bytes_append(&out, "", 1);
    assert_string_equal(out.data, "a?b?c");
}

/* What write() puts out on descriptor fd. */
static char *written(int fd, void (*write_it)(void)) {
    char path[] = "/tmp/petri-test-XXXXXX";
    static char text[512];
    int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    fflush(stdout);
    int before = dup(fd);
    dup2(file, fd);
    write_it();
    fflush(stdout);
    dup2(before, fd);
    close(before);
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    close(file);
    assert_true(n >= 0);
    text[n] = '\0';
    return text;
}

static void print(void) {
    terminal_print("%s: %d\n", "x\xe2\x80\xaey\x1b", 7);
    terminal_put("cut \xe2\x82", 6);
    terminal_put_line("\na");
}

static void complain(void) {
    terminal_complain("%s: %s", "no\n\xe2\x80\xaesuch\x1b[2J", "it is not there");
}

static void put_json(void) {
    json_t *json =
        json_pack("{s:s}", "a\xe2\x80\xae", "\x1b\xc2\x9b\x7f\xf3\xa0\x81\x81\xe2\x80\xa8 \xc3\xa4\xe2\x82\xac");
    assert_int_equal(terminal_put_json(json), 0);
    json_decref(json);
}

static void test_terminal_output_with_unsafe_arguments_is_safe(void **state) {
    (void)state;
    assert_string_equal(written(STDOUT_FILENO, print), "x?y?: 7\ncut ?a");
    assert_string_equal(written(STDERR_FILENO, complain), "petri: no??such?[2J: it is not there\n");
}

static void test_terminal_json_with_unseen_characters_has_escapes_and_the_same_value(void **state) {
    (void)state;
    const char *text = written(STDOUT_FILENO, put_json);
    assert_string_equal(text,
                        "{\n  \"a\\u202E\": \"\\u001B\\u009B\\u007F\\uDB40\\uDC41\\u2028 \xc3\xa4\xe2\x82\xac\"\n}\n");
    json_t *json = json_loads(text, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(json, "a\xe2\x80\xae")),
                        "\x1b\xc2\x9b\x7f\xf3\xa0\x81\x81\xe2\x80\xa8 \xc3\xa4\xe2\x82\xac");
    json_decref(json);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminal_text_with_unseen_characters_shows_question_marks),
        cmocka_unit_test(test_terminal_text_of_one_line_has_no_line_end),
        cmocka_unit_test(test_terminal_output_with_unsafe_arguments_is_safe),
        cmocka_unit_test(test_terminal_json_with_unseen_characters_has_escapes_and_the_same_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
