#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_error_set_keeps_errno_and_sentence(void **state) {
    struct error error = {.step = 7};
    (void)state;
    assert_int_equal(error_set(&error, ENOENT, "there is no %s in %d folders", "file", 3), -ENOENT);
    assert_int_equal(error.err, ENOENT);
    assert_int_equal(error.step, 0);
    assert_string_equal(error.text, "there is no file in 3 folders");
}

static void test_error_set_without_errno_returns_eio(void **state) {
    struct error error;
    (void)state;
    assert_int_equal(error_set(&error, 0, "it is another one"), -EIO);
    assert_int_equal(error.err, 0);
    assert_string_equal(error.text, "it is another one");
}

static void test_error_set_without_an_error_returns_errno(void **state) {
    (void)state;
    assert_int_equal(error_set(NULL, EPERM, "nobody reads this"), -EPERM);
    assert_int_equal(error_set_errno(NULL, EPERM), -EPERM);
}

static void test_error_set_of_its_own_text_puts_it_into_a_sentence(void **state) {
    struct error error;
    (void)state;
    error_set(&error, ELOOP, "it is a link");
    assert_int_equal(error_set(&error, error.err, "the file %s can't be read: %s.", "a", error.text), -ELOOP);
    assert_string_equal(error.text, "the file a can't be read: it is a link.");
}

static void test_error_set_with_too_long_text_cuts_it(void **state) {
    struct error error;
    char path[2 * ERROR_TEXT_BYTES];
    (void)state;
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(error_set(&error, ENAMETOOLONG, "%s", path), -ENAMETOOLONG);
    assert_int_equal(strlen(error.text), ERROR_TEXT_BYTES - 1);
}

/* Of a sentence about a long path the end is what helps. */
static void test_error_text_that_is_too_long_loses_its_middle(void **state) {
    static const char end[] = " can't be read: it is a link.";
    struct error error;
    char path[PATH_MAX];
    (void)state;
    memset(path, 'x', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    error_set(&error, ENOENT, "/%s%s", path, end);
    assert_int_equal(strlen(error.text), ERROR_TEXT_BYTES - 1);
    assert_memory_equal(error.text, "/xxx", 4);
    assert_non_null(strstr(error.text, "x...x"));
    assert_string_equal(error.text + ERROR_TEXT_BYTES - sizeof end, end);
}

static void test_error_set_errno_says_what_libc_says(void **state) {
    struct error error;
    (void)state;
    assert_int_equal(error_set_errno(&error, ENOENT), -ENOENT);
    assert_int_equal(error.err, ENOENT);
    assert_string_equal(error.text, "No such file or directory");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_set_keeps_errno_and_sentence),
        cmocka_unit_test(test_error_set_without_errno_returns_eio),
        cmocka_unit_test(test_error_set_without_an_error_returns_errno),
        cmocka_unit_test(test_error_set_of_its_own_text_puts_it_into_a_sentence),
        cmocka_unit_test(test_error_set_with_too_long_text_cuts_it),
        cmocka_unit_test(test_error_text_that_is_too_long_loses_its_middle),
        cmocka_unit_test(test_error_set_errno_says_what_libc_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
