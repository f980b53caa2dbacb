/* Values of environment variables: which lines of code set some, and what is taken out for them. */
#include "kernel/records/redact.h"
#include "kernel/records/secrets.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MARK "[redacted: variable]"
#define MARK_OF(name) "[redacted: variable " name "]"

static struct variables variables;

static int end(void **state) {
    (void)state;
    variables_fini(&variables);
    return 0;
}

static void check(size_t (*redact)(const struct redaction *, const char *, size_t, struct bytes *), const char *text,
                  const char *expected) {
    struct bytes out = {0};
    redact(&(struct redaction){.variables = &variables}, text, strlen(text), &out);
    assert_true(bytes_ok(&out));
    bytes_append(&out, "", 1);
    assert_string_equal(out.data, expected);
    bytes_fini(&out);
}

static void add(const char *name, const char *value) {
    assert_true(variables_add(&variables, name, value, strlen(value), false));
}

static void read_code(const char *code) {
    assert_true(variables_read_code(&variables, code, strlen(code)));
}

static void test_variables_of_lines_of_code_are_taken_out_of_them(void **state) {
    static const struct {
        const char *code, *kept;
    } rows[] = {
        {"%env A=1", "%env A=" MARK},
        {"%env A = 1 2 ", "%env A = " MARK " "},
        {"%env A 1", "%env A " MARK},
        {"%env\tA=a=b", "%env\tA=" MARK},
        {"%set_env A=1", "%set_env A=" MARK},
        {"  %env A=1\r\nx", "  %env A=" MARK "\r\nx"},
        {"if x:\n    %env A=1\n    %env B 2\ny = 1", "if x:\n    %env A=" MARK "\n    %env B " MARK "\ny = 1"},
        {"%env A=1\\\n2\nx", "%env A=" MARK "\nx"},
        {"%env A=1\\", "%env A=" MARK},
        {"%env A=\n%env B=2", "%env A=\n%env B=" MARK},
        {"%env A b=c", "%env A " MARK},
        {"env A=1", "env A=" MARK},
        {"env A=1\n", "env A=" MARK "\n"},
        {"set_env A 1", "set_env A " MARK},
        /* These set nothing. */
        {"%%bash\nenv A=1", "%%bash\nenv A=1"},
        {"%env", "%env"},
        {"%env ", "%env "},
        {"%env A", "%env A"},
        {"%env A=", "%env A="},
        {"%environ A=1", "%environ A=1"},
        {"x = %env A", "x = %env A"},
        {"% env A=1", "% env A=1"},
        {"", ""},
        {"\n\n", "\n\n"},
        {"%", "%"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check(redact_code, rows[i].code, rows[i].kept);
    check(redact_text, "%env A=1", "%env A=1"); /* no code */
}

static void test_variables_that_code_sets_are_taken_out_of_all_texts(void **state) {
    (void)state;
    read_code("%env A=correct horse\n%env B=staple=1\nx");
    check(redact_text, "correct horse, staple=1.", MARK_OF("A") ", " MARK_OF("B") ".");
    check(redact_text, "correct horse correct horsestaple=1", MARK_OF("A") " " MARK_OF("A") MARK_OF("B"));
    check(redact_text, "correct hors", "correct hors");
    check(redact_code, "y = 'correct horse'", "y = '" MARK_OF("A") "'");
}

/* Colours between its characters, escapes of a repr(), HTML. */
static void test_variables_are_found_as_they_are_displayed(void **state) {
    (void)state;
    add("A", "b<tt>ery\"9");
    check(redact_text, "x b<t\x1b[1mt>ery\"9 y", "x " MARK_OF("A") " y");
    check(redact_text, "b<tt>ery\\\"9", MARK_OF("A"));
    check(redact_text, "b&lt;tt&gt;ery&quot;9", MARK_OF("A"));
}

/* What would be found everywhere, and what IPython computes, is no value. */
static void test_variables_short_or_computed_are_not_noted(void **state) {
    (void)state;
    read_code("%env A=12345\n%env B={token}\n%env C=$secret\n%env D=123456\\\n7");
    assert_int_equal(variables.n, 0);
    add("A", "12345");
    assert_int_equal(variables.n, 0);
}

static void test_variables_names_can_not_end_a_mark(void **state) {
    char name[200];
    (void)state;
    add("A] x", "first-value");
    memset(name, 'N', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    add(name, "second-value");
    check(redact_text, "first-value", MARK_OF("A"));
    name[VARIABLES_KIND_BYTES - 1 - strlen("variable ")] = '\0';
    char expected[300];
    snprintf(expected, sizeof expected, "[redacted: variable %s]", name);
    check(redact_text, "second-value", expected);
}

static void test_variables_forget_the_oldest_and_never_the_configured(void **state) {
    char value[32];
    (void)state;
    assert_true(variables_add(&variables, "KEY", "configured", 10, true));
    for (int i = 0; i < VARIABLES_MAX; i++) {
        snprintf(value, sizeof value, "value-%04d", i);
        add("A", value);
        add("A", value);
    }
    assert_int_equal(variables.n, VARIABLES_MAX);
    check(redact_text, "configured value-0000 value-0001", MARK_OF("KEY") " value-0000 " MARK_OF("A"));
    variables_fini(&variables);
    for (int i = 0; i < VARIABLES_MAX; i++) {
        snprintf(value, sizeof value, "value-%04d", i);
        assert_true(variables_add(&variables, "A", value, strlen(value), true));
    }
    add("B", "one more");
    check(redact_text, "value-0000 one more", MARK_OF("A") " one more");
}

static void test_variables_of_a_great_length_are_known_by_their_beginning(void **state) {
    char *text = malloc(VARIABLES_VALUE_BYTES + 6);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', VARIABLES_VALUE_BYTES);
    memcpy(text + VARIABLES_VALUE_BYTES, "after", 6);
    add("A", text);
    check(redact_text, text, MARK_OF("A") "after");
    free(text);
}

/* As test_redact_of_a_long_hostile_text_takes_linear_time(). */
static void test_variables_of_hostile_code_take_linear_time(void **state) {
    struct bytes code = {0}, out = {0};
    (void)state;
    bytes_append_text(&code, "#");
    while (code.n < 2 * LONG_TEXT_BYTES)
        bytes_append_text(&code, "xxxxxxxxxxxxxxxx");
    while (code.n < 6 * LONG_TEXT_BYTES)
        bytes_append_text(&code, "\n%env A=1");
    assert_true(variables_read_code(&variables, code.data, code.n));
    redact_code(&(struct redaction){.variables = &variables}, code.data, code.n, &out);
    assert_true(bytes_ok(&out));
    bytes_fini(&code);
    bytes_fini(&out);
}

static void check_all_found(int64_t deadline_us, const char *kind) {
    static char text[500 * (VARIABLES_MAX + VARIABLES_VALUE_BYTES_MIN - 1)]; /* of whole values of the last row */
    struct bytes hits = {0};
    memset(text, 'a', sizeof text);
    variables_find(&variables, text, sizeof text, deadline_us, &hits);
    const struct secrets_hit *hit = (const struct secrets_hit *)hits.data;
    assert_int_equal(hits.n, sizeof *hit);
    assert_true(hit->start == 0 && hit->end == sizeof text);
    assert_string_equal(hit->kind, kind);
    bytes_fini(&hits);
}

/* Values that lie over each other at each byte of a text, and a search that has no time. */
static void test_variables_that_overlap_take_no_more_memory_than_the_text(void **state) {
    char value[VARIABLES_MAX + VARIABLES_VALUE_BYTES_MIN] = "";
    (void)state;
    for (size_t n = VARIABLES_VALUE_BYTES_MIN; n < sizeof value; n++) {
        memset(value, 'a', n);
        assert_true(variables_add(&variables, "A", value, n, false));
    }
    check_all_found(INT64_MAX, "variable A");
    check_all_found(0, "all, as the values of variables take too long to find");
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_variables_of_lines_of_code_are_taken_out_of_them),
        TEST(test_variables_that_code_sets_are_taken_out_of_all_texts),
        TEST(test_variables_are_found_as_they_are_displayed),
        TEST(test_variables_short_or_computed_are_not_noted),
        TEST(test_variables_names_can_not_end_a_mark),
        TEST(test_variables_forget_the_oldest_and_never_the_configured),
        TEST(test_variables_of_a_great_length_are_known_by_their_beginning),
        TEST(test_variables_of_hostile_code_take_linear_time),
        TEST(test_variables_that_overlap_take_no_more_memory_than_the_text),
    };
    return cmocka_run_group_tests_name("variables", tests, NULL, NULL);
}
