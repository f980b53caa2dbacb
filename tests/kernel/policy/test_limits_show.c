/* The table of limits that %limits shows. */
#include "kernel/policy/limits_show.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static json_t *show(const struct limits_used *used) {
    struct profile profile;
    struct limits limits;
    limits_defaults(PROFILE_STRICT, &limits);
    limits.values[LIMIT_TIMEOUT] = 1500;
    profile_of_kind(PROFILE_STRICT, &profile);
    json_t *data = limits_show(&profile, &limits, used);
    assert_non_null(data);
    return data;
}

static const char *text_of(const json_t *data, const char *type) {
    return json_string_value(json_object_get(data, type));
}

static size_t count(const char *text, const char *part) {
    size_t n = 0;
    while ((text = strstr(text, part))) {
        text += strlen(part);
        n++;
    }
    return n;
}

static void test_limits_show_has_a_row_for_each_limit(void **state) {
    struct limits_used used;
    (void)state;
    limits_used_clear(&used);
    json_t *data = show(&used);
    const char *plain = text_of(data, "text/plain"), *html = text_of(data, "text/html");
    assert_non_null(
        strstr(plain, "\ntimeout         1500 ms     60 s                                wall clock of a cell"));
    assert_non_null(strstr(plain, "\ncode            256 KiB     256 KiB "));
    assert_int_equal(count(plain, "\n"), 1 + LIMIT_N);
    assert_int_equal(count(html, "<tr>"), 1 + LIMIT_N);
    assert_int_equal(count(html, "<progress"), 0);
    json_decref(data);
}

static void test_limits_show_of_what_is_used_has_it_with_a_bar(void **state) {
    struct limits_used used;
    (void)state;
    limits_used_clear(&used);
    used.cell[LIMIT_TIMEOUT] = 375;
    used.cell[LIMIT_MEMORY] = 200 << 20;
    used.session[LIMIT_MEMORY] = 300 << 20;
    used.session[LIMIT_FILES] = 12;
    json_t *data = show(&used);
    const char *plain = text_of(data, "text/plain"), *html = text_of(data, "text/html");
    assert_non_null(strstr(plain, "\ntimeout         1500 ms     60 s        375 ms "));
    assert_non_null(strstr(plain, "\nmemory          256 MiB     1 GiB       200 MiB     300 MiB "));
    assert_non_null(strstr(html, "value=\"0.250\""));
    assert_non_null(strstr(html, "value=\"1.000\"")); /* more than the limit is all of it */
    assert_int_equal(count(html, "<progress"), 3);
    json_decref(data);
}

static void test_limits_show_rounds_what_is_used(void **state) {
    struct limits_used used;
    (void)state;
    limits_used_clear(&used);
    used.cell[LIMIT_TIMEOUT] = 2345;
    used.cell[LIMIT_MEMORY] = 1234567;
    used.cell[LIMIT_OUTPUT] = 0;
    used.cell[LIMIT_PROCESSES] = 3;
    json_t *data = show(&used);
    const char *plain = text_of(data, "text/plain");
    assert_non_null(strstr(plain, " 2.3 s "));
    assert_non_null(strstr(plain, " 1.2 MiB "));
    assert_non_null(strstr(plain, " 0 bytes "));
    assert_non_null(strstr(plain, "\nprocesses       64          256         3 "));
    json_decref(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_show_has_a_row_for_each_limit),
        cmocka_unit_test(test_limits_show_of_what_is_used_has_it_with_a_bar),
        cmocka_unit_test(test_limits_show_rounds_what_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
