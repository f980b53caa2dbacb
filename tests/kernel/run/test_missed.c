/* Lists of cells that an image has not run: what is added, what is taken out, and that states can share them. */
#include "kernel/run/missed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void add(json_t **missed, int number, const char *text) {
    json_t *code = json_string(text);
    missed_add(missed, number, code);
    json_decref(code);
}

/* A list with cells of these numbers, up to 0. */
static json_t *list_of(const int *numbers) {
    json_t *missed = NULL;
    for (; *numbers > 0; numbers++)
        add(&missed, *numbers, "x");
    return missed;
}

static void expect(const json_t *missed, const int *numbers) {
    size_t n = 0;
    for (; numbers[n] > 0; n++)
        assert_int_equal(json_integer_value(json_array_get(json_array_get(missed, n), 0)), numbers[n]);
    assert_int_equal(json_array_size(missed), n);
}

static void test_add_puts_number_and_code_at_the_end(void **state) {
    json_t *missed = NULL;
    (void)state;
    add(&missed, 2, "a");
    add(&missed, 5, "b\n");
    char *text = json_dumps(missed, JSON_COMPACT);
    assert_string_equal(text, "[[2,\"a\"],[5,\"b\\n\"]]");
    free(text);
    json_decref(missed);
}

static void test_remove_takes_out_what_it_names_and_leaves_others(void **state) {
    static const struct {
        int numbers[5];
        int number;
        int without[5], after[5];
    } rows[] = {
        {{0}, 3, {0}, {0}},
        {{3, 0}, 3, {0}, {0}},
        {{2, 3, 4, 0}, 3, {2, 4, 0}, {4, 0}},
        {{2, 4, 0}, 3, {2, 4, 0}, {4, 0}},
        {{2, 0}, 9, {2, 0}, {0}},
        {{4, 5, 0}, 0, {4, 5, 0}, {4, 5, 0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *one = list_of(rows[i].numbers), *other = list_of(rows[i].numbers);
        missed_remove(&one, rows[i].number);
        missed_remove_until(&other, rows[i].number);
        expect(one, rows[i].without);
        expect(other, rows[i].after);
        json_decref(one);
        json_decref(other);
    }
}

static void test_list_that_is_shared_stays_as_it_is(void **state) {
    static const int both[] = {2, 3, 0};
    json_t *missed = list_of(both), *shared = json_incref(missed);
    (void)state;
    add(&missed, 4, "x");
    expect(shared, both);
    missed_remove(&missed, 2);
    missed_remove_until(&missed, 3);
    expect(shared, both);
    assert_int_equal(shared->refcount, 1);
    json_decref(shared);
    json_decref(missed);
}

static void test_oldest_go_where_there_are_too_many(void **state) {
    json_t *missed = NULL;
    (void)state;
    for (int i = 1; i <= MISSED_MAX + 2; i++)
        add(&missed, i, "x");
    assert_int_equal(json_array_size(missed), MISSED_MAX);
    assert_int_equal(json_integer_value(json_array_get(json_array_get(missed, 0), 0)), 3);
    json_decref(missed);
}

static void test_oldest_go_where_their_code_is_too_long(void **state) {
    static const int last[] = {2, 3, 0}, none[] = {0};
    char *half = calloc(1, MISSED_BYTES / 2 + 1), *more = calloc(1, MISSED_BYTES + 2);
    json_t *missed = NULL;
    (void)state;
    assert_true(half && more);
    memset(half, 'x', MISSED_BYTES / 2);
    memset(more, 'x', MISSED_BYTES + 1);
    for (int i = 1; i <= 3; i++)
        add(&missed, i, half);
    expect(missed, last);
    add(&missed, 4, more);
    expect(missed, none);
    json_decref(missed);
    free(half);
    free(more);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_add_puts_number_and_code_at_the_end),
        cmocka_unit_test(test_remove_takes_out_what_it_names_and_leaves_others),
        cmocka_unit_test(test_list_that_is_shared_stays_as_it_is),
        cmocka_unit_test(test_oldest_go_where_there_are_too_many),
        cmocka_unit_test(test_oldest_go_where_their_code_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
