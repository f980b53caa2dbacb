/* Whether the machine has a processor to spare. */
#include "kernel/base/load.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BUSY_MAX = 1024, LOOKS = 10000 };

static void test_who_asks_does_not_count(void **state) {
    (void)state;
    assert_true(load_is_below("9.99 9.99 9.99 1/300 4711\n", 1));
    assert_true(load_is_below("0.00 0.00 0.00 2/300 4711\n", 2));
    assert_false(load_is_below("0.00 0.00 0.00 2/300 4711\n", 1));
    assert_false(load_is_below("0.00 0.00 0.00 5/300 4711\n", 4));
}

static void test_what_can_not_be_read_keeps_nothing_back(void **state) {
    (void)state;
    assert_true(load_is_below("", 1));
    assert_true(load_is_below("0.00 0.00 0.00", 1));
    assert_true(load_is_below("0.00 0.00 0.00 many/300", 1));
}

static void test_busy_machine_has_none_to_spare(void **state) {
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    const int n = processors < BUSY_MAX ? (int)processors : BUSY_MAX;
    pid_t busy[BUSY_MAX];
    bool leaves = true;
    (void)state;
    for (int i = 0; i < n; i++)
        if ((busy[i] = fork()) == 0)
            for (volatile uint64_t turns = 0;; turns++)
                continue;
    for (int i = 0; leaves && i < LOOKS; i++) {
        usleep(1000);
        leaves = load_leaves_processor();
    }
    for (int i = 0; i < n; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    assert_false(leaves);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_asks_does_not_count),
        cmocka_unit_test(test_what_can_not_be_read_keeps_nothing_back),
        cmocka_unit_test(test_busy_machine_has_none_to_spare),
    };
    return cmocka_run_group_tests_name("load", tests, NULL, NULL);
}
