#include "kernel/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_dispatch_routes_are_ordered_and_unique(void **state) {
    (void)state;
    for (size_t i = 1; i < dispatch_n_routes; i++)
        assert_true(strcmp(dispatch_routes[i - 1].msg_type, dispatch_routes[i].msg_type) < 0);
}

static void test_dispatch_routes_have_a_channel_and_a_handler(void **state) {
    (void)state;
    for (size_t i = 0; i < dispatch_n_routes; i++) {
        assert_int_not_equal(dispatch_routes[i].channels, 0);
        assert_int_equal(dispatch_routes[i].channels & ~(1U << CHANNEL_SHELL | 1U << CHANNEL_CONTROL), 0);
        assert_non_null(dispatch_routes[i].cell); /* of the union: a function or a table */
    }
}

static void test_dispatch_find_depends_on_the_channel(void **state) {
    (void)state;
    assert_non_null(dispatch_find("complete_request", CHANNEL_SHELL));
    assert_null(dispatch_find("complete_request", CHANNEL_CONTROL));
    assert_ptr_equal(dispatch_find("kernel_info_request", CHANNEL_SHELL),
                     dispatch_find("kernel_info_request", CHANNEL_CONTROL));
    assert_null(dispatch_find("no_such_request", CHANNEL_SHELL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dispatch_routes_are_ordered_and_unique),
        cmocka_unit_test(test_dispatch_routes_have_a_channel_and_a_handler),
        cmocka_unit_test(test_dispatch_find_depends_on_the_channel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
