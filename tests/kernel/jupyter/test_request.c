#include "kernel/dispatch.h"
#include "kernel/jupyter/request.h"
#include "protocol/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct route row_a, row_b;

static struct request *make(const struct route *row, json_t *content) {
    struct message message = {.content = content, .bytes = text_memory(content)};
    struct request *request = request_create(CHANNEL_SHELL, row, &message);
    assert_non_null(request);
    assert_null(message.content);
    return request;
}

static void expect_pop(struct request_queue *queue, struct request *expected) {
    struct request *request = request_queue_pop(queue);
    assert_ptr_equal(request, expected);
    request_destroy(request);
}

static void test_queue_pop_returns_requests_in_order(void **state) {
    struct request_queue queue = {0};
    struct request *first = make(&row_a, NULL), *second = make(&row_b, NULL);
    (void)state;
    request_queue_push(&queue, first);
    request_queue_push(&queue, second);
    expect_pop(&queue, first);
    expect_pop(&queue, second);
    expect_pop(&queue, NULL);
}

static void test_queue_move_takes_one_route_and_keeps_order(void **state) {
    struct request_queue queue = {0}, moved = {0};
    struct request *requests[5];
    (void)state;
    for (int i = 0; i < 5; i++) {
        requests[i] = make(i % 2 ? &row_b : &row_a, NULL);
        request_queue_push(&queue, requests[i]);
    }
    request_queue_move(&queue, &row_a, &moved);
    expect_pop(&moved, requests[0]);
    expect_pop(&moved, requests[2]);
    expect_pop(&moved, requests[4]);
    expect_pop(&moved, NULL);
    expect_pop(&queue, requests[1]);
    expect_pop(&queue, requests[3]);
    expect_pop(&queue, NULL);
}

static void test_queue_has_the_bytes_of_what_is_in_it(void **state) {
    struct request_queue queue = {0}, moved = {0};
    (void)state;
    struct request *small = make(&row_a, json_string("small")), *large = make(&row_b, json_stringn("large text", 10));
    assert_int_equal(large->bytes - small->bytes, 5);
    const uint64_t small_bytes = small->bytes, large_bytes = large->bytes;
    request_queue_push(&queue, small);
    request_queue_push(&queue, large);
    assert_int_equal(queue.bytes, small_bytes + large_bytes);
    request_queue_move(&queue, &row_b, &moved);
    assert_int_equal(queue.bytes, small_bytes);
    assert_int_equal(moved.bytes, large_bytes);
    request_queue_take(&queue, small);
    request_destroy(small);
    request_queue_clear(&moved);
    assert_int_equal(queue.bytes + moved.bytes, 0);
}

static void test_queue_push_after_move_of_all_works(void **state) {
    struct request_queue queue = {0}, moved = {0};
    (void)state;
    request_queue_push(&queue, make(&row_a, NULL));
    request_queue_move(&queue, &row_a, &moved);
    struct request *later = make(&row_a, NULL);
    request_queue_push(&queue, later);
    expect_pop(&queue, later);
    request_queue_clear(&moved);
    expect_pop(&moved, NULL);
}

static void test_request_fields_of_the_wrong_type_count_as_missing(void **state) {
    struct request *request = make(&row_a, json_pack("{s:s, s:b, s:s}", "silent", "yes", "flag", 1, "name", "x"));
    (void)state;
    assert_false(request_bool(request, "silent", false));
    assert_true(request_bool(request, "silent", true));
    assert_true(request_bool(request, "flag", false));
    assert_string_equal(request_string(request, "name", "y"), "x");
    assert_string_equal(request_string(request, "flag", "y"), "y");
    assert_string_equal(request_string(request, "none", "y"), "y");
    request_destroy(request);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue_pop_returns_requests_in_order),
        cmocka_unit_test(test_queue_move_takes_one_route_and_keeps_order),
        cmocka_unit_test(test_queue_has_the_bytes_of_what_is_in_it),
        cmocka_unit_test(test_queue_push_after_move_of_all_works),
        cmocka_unit_test(test_request_fields_of_the_wrong_type_count_as_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
