/* Whoever serves others has a turn once some milliseconds have passed, and none within a turn or in another thread. */
#include "base/slices.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

static int64_t now_ms; /* the clock of the tests */
static unsigned n_turns;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_now) {
    (void)clock;
    *ret_now = (struct timespec){.tv_sec = now_ms / 1000, .tv_nsec = now_ms % 1000 * 1000000};
    return 0;
}

static void turn(void *arg, int wait_ms) {
    assert_ptr_equal(arg, &n_turns);
    assert_int_equal(wait_ms, 0);
    n_turns++;
    now_ms += 100;
    slices_step(); /* what serves works, too */
}

static int set_up(void **state) {
    (void)state;
    n_turns = 0;
    slices_serve(turn, &n_turns);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    slices_serve(NULL, NULL);
    return 0;
}

static void test_a_turn_comes_once_so_much_time_has_passed(void **state) {
    (void)state;
    for (int step = 0; step < 1000; step++, now_ms++)
        slices_step();
    assert_in_range(n_turns, 90, 100);
}

static void test_no_turn_comes_before(void **state) {
    (void)state;
    for (int step = 0; step < 1000; step++, now_ms++) {
        slices_step();
        slices_served();
    }
    assert_int_equal(n_turns, 0);
}

static void *work(void *arg) {
    now_ms += 1000;
    slices_step();
    return arg;
}

static void test_work_of_another_thread_serves_nobody(void **state) {
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, work, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(n_turns, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_turn_comes_once_so_much_time_has_passed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_turn_comes_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_work_of_another_thread_serves_nobody, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("slices", tests, NULL, NULL);
}
