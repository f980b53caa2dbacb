#include "kernel/base/pattern.h"

#include "kernel/base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct patterns *make(const char *pattern) {
    struct patterns *patterns = NULL;
    json_t *texts = json_pack("[s]", pattern);
    assert_int_equal(patterns_create(texts, &patterns), 0);
    json_decref(texts);
    return patterns;
}

/* How many matches there are, and where the last one is; or -errno. */
static int count(const char *pattern, const char *text, size_t bytes, size_t *ret_start, size_t *ret_end) {
    struct patterns *patterns = make(pattern);
    struct work_time time = pattern_time();
    struct pattern_pass pass = {.text = text, .bytes = bytes, .time = &time};
    int n = 0;
    int r;
    while ((r = patterns_next(patterns, 0, &pass, ret_start, ret_end)) > 0)
        n++;
    patterns_destroy(patterns);
    return r < 0 ? r : n;
}

static void test_pattern_matches_are_found_line_by_line(void **state) {
    static const struct {
        const char *pattern;
        const char *text;
        int n;
    } rows[] = {
        {"K-[0-9]+", "K-1 and K-22\nK-x K-333", 3},
        {"^a", "a a\na", 2},
        {"a$", "a a\nba", 2},
        {"x*", "axxbx", 2},
        {"a\nb", "a\nb", 0},
        {"a.b", "a\nb", 0},
        {"(?i)key", "KEY", 1},
        {"z", "", 0},
    };
    size_t start, end;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(count(rows[i].pattern, rows[i].text, strlen(rows[i].text), &start, &end), rows[i].n);
}

/* Wherever it stands in a line that is longer than what is looked at at once. */
static void test_pattern_match_in_a_long_line_is_found_once_and_whole(void **state) {
    static const char key[] = "KEY-0123456789";
    static char text[5 * PATTERN_WINDOW_BYTES];
    size_t n = sizeof key - 1;
    size_t start, end;
    (void)state;
    for (size_t at = 0; at + n <= sizeof text; at += 61) {
        memset(text, 'x', sizeof text);
        memcpy(text + at, key, n);
        assert_int_equal(count("KEY-[0-9]{10}", text, sizeof text, &start, &end), 1);
        assert_int_equal(start, at);
        assert_int_equal(end, at + n);
    }
}

static void test_pattern_that_backtracks_for_ever_times_out(void **state) {
    static char text[100000];
    size_t start, end;
    (void)state;
    memset(text, 'a', sizeof text);
    assert_int_equal(count("(a|aa)+[^a]$", text, sizeof text, &start, &end), -ETIME);
}

/* A machine that does other things meanwhile must not change what is found. */
static void test_pattern_time_is_what_the_thread_works_and_no_other(void **state) {
    static const char text[] = "one key, and another key";
    struct patterns *patterns = make("key");
    struct work_time time = work_time_for(1000 * CLOCK_S);
    struct pattern_pass pass = {.text = text, .bytes = strlen(text), .time = &time};
    size_t start, end;
    (void)state;
    time.look_us = clock_us() - 1; /* as if that had passed while others had the processor */
    assert_int_equal(patterns_next(patterns, 0, &pass, &start, &end), 1);
    assert_true(time.look_us > clock_us());
    time = work_time_for(-1);
    assert_int_equal(patterns_next(patterns, 0, &pass, &start, &end), -ETIME);
    patterns_destroy(patterns);
}

static void test_pattern_that_is_invalid_is_refused_with_its_position(void **state) {
    struct error error;
    char *long_one = calloc(1, PATTERN_BYTES_MAX + 2);
    (void)state;
    assert_int_equal(pattern_check("ab[", &error), -EINVAL);
    assert_string_equal(error.text, "missing terminating ] for character class at byte 3 of the pattern");
    assert_int_equal(pattern_check("", &error), -EINVAL);
    memset(long_one, 'a', PATTERN_BYTES_MAX + 1);
    assert_int_equal(pattern_check(long_one, &error), -EINVAL);
    assert_string_equal(error.text, "a pattern has between 1 and 1000 bytes");
    free(long_one);
    assert_int_equal(pattern_check("a.*b", &error), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern_matches_are_found_line_by_line),
        cmocka_unit_test(test_pattern_match_in_a_long_line_is_found_once_and_whole),
        cmocka_unit_test(test_pattern_that_backtracks_for_ever_times_out),
        cmocka_unit_test(test_pattern_time_is_what_the_thread_works_and_no_other),
        cmocka_unit_test(test_pattern_that_is_invalid_is_refused_with_its_position),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
