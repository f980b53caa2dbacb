#include "kernel/base/log.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct log log_;
static char line[2048];
static int pipe_fds[2], stderr_fd;

/* Standard error goes to where said() reads it. */
static int redirect(void **state) {
    (void)state;
    stderr_fd = dup(STDERR_FILENO);
    return stderr_fd < 0 || pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0 || dup2(pipe_fds[1], STDERR_FILENO) < 0;
}

static int restore(void **state) {
    (void)state;
    dup2(stderr_fd, STDERR_FILENO);
    close(stderr_fd);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    return 0;
}

/* What was written since; "" for nothing. */
static const char *said(void) {
    ssize_t n = read(pipe_fds[0], line, sizeof line - 1);
    line[n > 0 ? n : 0] = '\0';
    return line;
}

static void test_log_line_has_its_level_and_text(void **state) {
    (void)state;
    log_init(&log_, NULL);
    log_write(&log_, LOG_LEVEL_WARNING, "there are %d", 3);
    assert_string_equal(said(), "petri: warning: there are 3\n");
    log_write(&log_, LOG_LEVEL_ERROR, "no more");
    assert_string_equal(said(), "petri: error: no more\n");
}

static void test_log_line_below_the_level_is_not_written(void **state) {
    (void)state;
    log_init(&log_, "warning");
    log_write(&log_, LOG_LEVEL_INFO, "nobody reads this");
    assert_string_equal(said(), "");
    log_init(&log_, "info");
    log_write(&log_, LOG_LEVEL_INFO, "somebody reads this");
    assert_string_equal(said(), "petri: info: somebody reads this\n");
}

static void test_log_line_at_debug_names_file_and_function(void **state) {
    (void)state;
    log_init(&log_, "debug");
    log_write(&log_, LOG_LEVEL_WARNING, "text");
    assert_string_equal(said(), "petri: warning: test_log.c:test_log_line_at_debug_names_file_and_function: text\n");
    log_write_from(&log_, LOG_LEVEL_DEBUG, "runner.c", "make_ahead", "text");
    assert_string_equal(said(), "petri: debug: runner.c:make_ahead: text\n");
}

static void test_log_line_that_is_too_long_is_cut(void **state) {
    char text[3000];
    (void)state;
    log_init(&log_, "debug");
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_write(&log_, LOG_LEVEL_DEBUG, "%s", text);
    assert_int_equal(strlen(said()), 1024);
    assert_int_equal(line[1023], '\n');
}

static void test_log_line_with_unseen_characters_shows_question_marks(void **state) {
    (void)state;
    log_init(&log_, NULL);
    log_write(&log_, LOG_LEVEL_WARNING, "a\nb\x1b[31m");
    assert_string_equal(said(), "petri: warning: a?b?[31m\n");
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, redirect, restore)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_log_line_has_its_level_and_text),
        TEST(test_log_line_below_the_level_is_not_written),
        TEST(test_log_line_at_debug_names_file_and_function),
        TEST(test_log_line_that_is_too_long_is_cut),
        TEST(test_log_line_with_unseen_characters_shows_question_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
