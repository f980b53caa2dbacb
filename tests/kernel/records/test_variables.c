/* Values of environment variables: which lines of code set some, and what is taken out for them. */
#include "kernel/base/clock.h"
#include "kernel/records/redact.h"
#include "kernel/records/secrets.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MARK "[redacted: variable]"
#define MARK_OF(name) "[redacted: variable " name "]"

enum { OVERLAPS = 134 };

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
    assert_int_equal(variables_add(&variables, VARIABLE_TOLD, 1, name, value, strlen(value)), 0);
}

static void read_code(const char *code) {
    assert_int_equal(variables_read_code(&variables, code, strlen(code)), 0);
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

/* Fills what a source may have, with values of bytes bytes each. Returns how many those are. */
static size_t fill(enum variable_source source, const char *begin, size_t bytes) {
    char *value = malloc(bytes + 1);
    size_t n = 0;
    int r = 0;
    assert_non_null(value);
    while (r == 0) {
        memset(value, '.', bytes);
        snprintf(value, bytes + 1, "%s-%06zu", begin, n);
        value[strlen(value)] = '.';
        r = variables_add(&variables, source, 1, "FULL", value, bytes);
        n += r == 0;
    }
    free(value);
    assert_int_equal(r, -ENOSPC);
    return n;
}

static void expect_known(const char *value, const char *expected) {
    check(redact_text, value, expected);
}

/* Whoever fills the list, in whichever order, and with values of whichever size. */
static void test_variables_of_a_full_source_are_refused_and_none_is_forgotten(void **state) {
    static const size_t sizes[] = {16, 4096, VARIABLES_VALUE_BYTES - 1};
    static const enum variable_source sources[] = {VARIABLE_IN_CODE, VARIABLE_TOLD};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t k = 0; k < sizeof sources / sizeof sources[0]; k++) {
            const enum variable_source other = sources[1 - k];
            assert_int_equal(variables_add(&variables, VARIABLE_CONFIGURED, 0, "KEY", "configured", 10), 0);
            assert_int_equal(variables_add(&variables, sources[k], 1, "EARLY", "early value", 11), 0);
            const size_t n = fill(sources[k], "full", sizes[i]);
            assert_true(n > 0 && n <= VARIABLES_MAX && n * sizes[i] <= VARIABLES_BYTES_MAX);
            assert_int_equal(variables_add(&variables, other, 1, "OTHER", "of the other", 12), 0);
            assert_int_equal(variables_add(&variables, VARIABLE_CONFIGURED, 0, "LATE", "configured late", 15), 0);
            assert_int_equal(variables_add(&variables, sources[k], 1, "EARLY", "early value", 11), 0);
            expect_known("early value, of the other, configured, configured late",
                         MARK_OF("EARLY") ", " MARK_OF("OTHER") ", " MARK_OF("KEY") ", " MARK_OF("LATE"));
            variables_fini(&variables);
        }
    }
}

static void test_variables_over_the_bound_are_known_to_the_end_of_their_run(void **state) {
    (void)state;
    fill(VARIABLE_TOLD, "full", 16);
    variables_forget(&variables, 1);
    assert_int_equal(variables_add(&variables, VARIABLE_TOLD, 2, "A", "one too many", 12), -ENOSPC);
    assert_int_equal(variables_add(&variables, VARIABLE_TOLD, 3, "B", "one too many", 12), -ENOSPC);
    const size_t n = variables.n;
    variables_forget(&variables, 2);
    assert_int_equal(variables.n, n - 1);
    expect_known("one too many", MARK_OF("B"));
    variables_forget(&variables, 3);
    expect_known("one too many", "one too many");
    assert_int_equal(variables_add(&variables, VARIABLE_IN_CODE, 0, "C", "one too many", 12), 0);
    expect_known("one too many, full-000000..... full-000001.....",
                 MARK_OF("C") ", " MARK_OF("FULL") " " MARK_OF("FULL"));
}

static void test_variables_of_code_over_the_bound_are_not_noted(void **state) {
    (void)state;
    fill(VARIABLE_IN_CODE, "full", 16);
    variables_forget(&variables, 1);
    const size_t n = variables.n;
    assert_int_equal(variables_read_code(&variables, "%env A=one too many\n%env B=and two", 34), -ENOSPC);
    assert_int_equal(variables.n, n);
}

/* The longest that stands at a place counts, whatever else begins as it does. */
static void test_variables_that_begin_alike_are_told_apart(void **state) {
    (void)state;
    add("SHORT", "common");
    add("LONG", "common beginning");
    add("OTHER", "common beginning and more");
    add("LAST", "commons");
    expect_known("common.", MARK_OF("SHORT") ".");
    expect_known("common beginnin", MARK_OF("SHORT") " beginnin");
    expect_known("common beginning and", MARK_OF("LONG") " and");
    expect_known("common beginning and more", MARK_OF("OTHER"));
    expect_known("commons", MARK_OF("LAST"));
    expect_known("commo", "commo");
}

static void test_variables_of_a_great_length_are_taken_out_from_their_beginning_on(void **state) {
    char *text = malloc(VARIABLES_VALUE_BYTES + 6);
    (void)state;
    assert_non_null(text);
    memset(text, 'x', VARIABLES_VALUE_BYTES);
    memcpy(text + VARIABLES_VALUE_BYTES, "after", 6);
    add("A", text);
    check(redact_text, text, MARK_OF("A"));
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
    assert_int_equal(variables_read_code(&variables, code.data, code.n), 0);
    redact_code(&(struct redaction){.variables = &variables}, code.data, code.n, &out);
    assert_true(bytes_ok(&out));
    bytes_fini(&code);
    bytes_fini(&out);
}

static void check_all_found(int64_t us, const char *kind) {
    static char text[500 * OVERLAPS];
    struct bytes hits = {0};
    struct work_time time = work_time_for(us);
    memset(text, 'a', sizeof text);
    variables_find(&variables, text, sizeof text, &time, &hits);
    const struct secrets_hit *hit = (const struct secrets_hit *)hits.data;
    assert_int_equal(hits.n, sizeof *hit);
    assert_true(hit->start == 0 && hit->end == sizeof text);
    assert_string_equal(hit->kind, kind);
    bytes_fini(&hits);
}

/* Values that lie over each other at each byte of a text, and a search that has no time. */
static void test_variables_that_overlap_take_no_more_memory_than_the_text(void **state) {
    char value[OVERLAPS] = "";
    (void)state;
    for (size_t n = VARIABLES_VALUE_BYTES_MIN; n < sizeof value; n++) {
        memset(value, 'a', n);
        add("A", value);
    }
    check_all_found(1000 * CLOCK_S, "variable A");
    check_all_found(-1, "all, as the values of variables take too long to find");
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_variables_of_lines_of_code_are_taken_out_of_them),
        TEST(test_variables_that_code_sets_are_taken_out_of_all_texts),
        TEST(test_variables_are_found_as_they_are_displayed),
        TEST(test_variables_short_or_computed_are_not_noted),
        TEST(test_variables_names_can_not_end_a_mark),
        TEST(test_variables_of_a_full_source_are_refused_and_none_is_forgotten),
        TEST(test_variables_over_the_bound_are_known_to_the_end_of_their_run),
        TEST(test_variables_of_code_over_the_bound_are_not_noted),
        TEST(test_variables_that_begin_alike_are_told_apart),
        TEST(test_variables_of_a_great_length_are_taken_out_from_their_beginning_on),
        TEST(test_variables_of_hostile_code_take_linear_time),
        TEST(test_variables_that_overlap_take_no_more_memory_than_the_text),
    };
    return cmocka_run_group_tests_name("variables", tests, NULL, NULL);
}
