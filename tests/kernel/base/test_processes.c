/* Sums over processes of the test's own. */
#include "kernel/base/processes.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 32 << 20 };

/* A child with memory of its own and a child below it, which ends with it; returns once both are there. */
static pid_t start_two(void) {
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *held = malloc(BYTES);
        memset(held, 1, BYTES);
        if (fork() == 0 && (prctl(PR_SET_PDEATHSIG, SIGKILL) || write(ready[1], held, 1) != 1))
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void test_processes_below_one_are_counted_and_no_others(void **state) {
    struct processes below, own, all;
    (void)state;
    pid_t pid = start_two();
    processes_read_below(pid, &below);
    processes_read_below(getpid(), &own);
    processes_read_all(&all);
    assert_int_equal(below.n, 2);
    assert_int_equal(own.n, 3);
    assert_true(all.n >= own.n);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_memory_that_two_share_is_counted_once(void **state) {
    struct processes below;
    (void)state;
    pid_t pid = start_two();
    processes_read_below(pid, &below);
    assert_true(below.memory_bytes >= BYTES);
    assert_true(below.memory_bytes < 2 * (uint64_t)BYTES);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void test_process_that_is_not_there_has_nothing(void **state) {
    struct processes below = {1, 1, 1};
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    waitpid(pid, NULL, 0);
    processes_read_below(pid, &below);
    assert_int_equal(below.n, 0);
    assert_int_equal(below.memory_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processes_below_one_are_counted_and_no_others),
        cmocka_unit_test(test_memory_that_two_share_is_counted_once),
        cmocka_unit_test(test_process_that_is_not_there_has_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
