/* When a running cell is looked at: seldom where it writes through nothing, at once where it does. */
#include "tests/kernel/fake_clock.h"

#include "kernel/base/clock.h"
#include "kernel/run/in_place.h"

#include "sandbox/sandbox.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { FIRST_MS = 4, MOST_MS = 32, LOOKS = 16, MIB = 1 << 20 };

/* What a look finds, and what it takes; in place of the sandbox. */
static struct {
    int result, looks;
    uint64_t bytes;
    int64_t took_us;
    bool had_time, has_time_after;
} plan;

int cell_copy_ahead(struct cell *cell, cell_is_idle *has_time, void *arg, uint64_t *ret_bytes) {
    (void)cell;
    plan.looks++;
    plan.had_time = has_time(arg);
    fake_clock_put_forward(plan.took_us);
    plan.has_time_after = has_time(arg);
    *ret_bytes = plan.bytes;
    return plan.result;
}

static int begin(void **state) {
    static struct in_place in_place;
    plan = (typeof(plan)){0};
    fake_clock_stop();
    in_place_init(&in_place);
    assert_true(in_place.due_us == CLOCK_NEVER);
    in_place_begin(&in_place, clock_us());
    *state = &in_place;
    return 0;
}

/* A look when it is due; the time to the next one, in milliseconds. */
static int64_t look(struct in_place *in_place) {
    in_place_tick(in_place, NULL, in_place->due_us);
    return in_place->wait_us / CLOCK_MS;
}

static void test_no_look_before_it_is_due(void **state) {
    struct in_place *in_place = *state;
    in_place_tick(in_place, NULL, clock_us());
    assert_int_equal(plan.looks, 0);
    in_place_tick(in_place, NULL, clock_us() + FIRST_MS * CLOCK_MS);
    assert_int_equal(plan.looks, 1);
}

static void test_looks_become_rare_where_there_is_nothing_to_copy(void **state) {
    struct in_place *in_place = *state;
    for (int64_t ms = 2 * FIRST_MS; ms <= MOST_MS; ms *= 2)
        assert_int_equal(look(in_place), ms);
    assert_int_equal(look(in_place), MOST_MS);
}

static void test_next_look_comes_at_once_where_something_was_copied(void **state) {
    struct in_place *in_place = *state;
    plan.bytes = 64 * MIB;
    plan.took_us = 12 * CLOCK_MS;
    assert_int_equal(look(in_place), 1);
    assert_int_equal(look(in_place), 1);
    plan.bytes = 0;
    plan.took_us = CLOCK_MS;
    assert_int_equal(look(in_place), 2);
}

static void test_slow_looks_become_rare(void **state) {
    struct in_place *in_place = *state;
    plan.took_us = 10 * CLOCK_MS; /* as much as there is to look at */
    assert_in_range(look(in_place), LOOKS * 10, LOOKS * 20);
    plan.took_us = 3 * CLOCK_MS;
    for (int i = 0; i < 10; i++)
        look(in_place);
    assert_in_range(look(in_place), LOOKS * 3, LOOKS * 10);
}

static void test_copies_that_the_cell_makes_sooner_become_rare(void **state) {
    struct in_place *in_place = *state;
    plan.took_us = 40 * CLOCK_MS;
    plan.bytes = 16 * MIB;
    assert_in_range(look(in_place), 4 * 40, 4 * 50);
    assert_true(in_place->due_us >= clock_us() + 4 * 39 * CLOCK_MS);
    plan.bytes = 64 * MIB;
    assert_int_equal(look(in_place), 1);
}

static void test_time_of_a_look_that_goes_on_counts_until_its_end(void **state) {
    struct in_place *in_place = *state;
    const int64_t wait_us = in_place->wait_us;
    plan.result = -EAGAIN;
    plan.took_us = 10 * CLOCK_MS;
    for (int i = 0; i < 4; i++)
        assert_int_equal(look(in_place), wait_us / CLOCK_MS);
    assert_true(in_place->due_us <= clock_us() + CLOCK_MS);
    plan.result = 0;
    assert_in_range(look(in_place), LOOKS * 50, LOOKS * 60);
}

static void test_look_has_little_time(void **state) {
    struct in_place *in_place = *state;
    plan.took_us = 20 * CLOCK_MS;
    look(in_place);
    assert_true(plan.had_time);
    assert_false(plan.has_time_after);
}

static void test_no_more_looks_after_a_failure(void **state) {
    struct in_place *in_place = *state;
    plan.result = -EUCLEAN;
    look(in_place);
    assert_true(in_place->due_us == CLOCK_NEVER);
}

#define RUNNING(test) cmocka_unit_test_setup(test, begin)

int main(void) {
    const struct CMUnitTest tests[] = {
        RUNNING(test_no_look_before_it_is_due),
        RUNNING(test_looks_become_rare_where_there_is_nothing_to_copy),
        RUNNING(test_next_look_comes_at_once_where_something_was_copied),
        RUNNING(test_slow_looks_become_rare),
        RUNNING(test_copies_that_the_cell_makes_sooner_become_rare),
        RUNNING(test_time_of_a_look_that_goes_on_counts_until_its_end),
        RUNNING(test_look_has_little_time),
        RUNNING(test_no_more_looks_after_a_failure),
    };
    return cmocka_run_group_tests_name("in place", tests, NULL, NULL);
}
