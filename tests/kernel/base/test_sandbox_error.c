#include "kernel/base/sandbox_error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct error cause = {.step = 2, .err = EPERM, .text = "a detail"};

static void test_sandbox_error_becomes_its_sentence_with_step_and_errno(void **state) {
    struct error error;
    char text[1024];
    (void)state;
    assert_int_equal(error_set_sandbox(&error, -EACCES, &cause), -EACCES);
    assert_int_equal(error.err, EPERM);
    assert_int_equal(error.step, 2);
    assert_string_equal(error.text, sandbox_error_text(&cause, text, sizeof text));
    assert_non_null(strstr(error.text, "(a detail): Operation not permitted. "));
}

static void test_sandbox_error_without_ret_error_returns_errno(void **state) {
    (void)state;
    assert_int_equal(error_set_sandbox(NULL, -EACCES, &cause), -EACCES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sandbox_error_becomes_its_sentence_with_step_and_errno),
        cmocka_unit_test(test_sandbox_error_without_ret_error_returns_errno),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
