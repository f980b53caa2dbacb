/* How many are allowed, on a clock that the test puts forward. */
#include "kernel/base/clock.h"
#include "kernel/base/pace.h"
#include "tests/kernel/fake_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* How many are allowed now, one after the other. */
static unsigned count_allowed(struct pace *pace, unsigned per_second, unsigned burst) {
    unsigned n = 0;
    while (n < 1000 && pace_allows(pace, per_second, burst))
        n++;
    return n;
}

static void test_pace_after_a_burst_allows_the_rate(void **state) {
    (void)state;
    struct pace pace = {0};
    fake_clock_stop();
    assert_int_equal(count_allowed(&pace, 1, 64), 65);
    fake_clock_put_forward(10 * CLOCK_S);
    assert_int_equal(count_allowed(&pace, 1, 64), 10);
    fake_clock_put_forward(1000 * CLOCK_S);
    assert_int_equal(count_allowed(&pace, 1, 64), 65);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace_after_a_burst_allows_the_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
