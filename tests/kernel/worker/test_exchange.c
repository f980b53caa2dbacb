/* One request to one worker: each way in which an exchange ends, and which end counts where several have come. */
#include "kernel/worker/exchange.h"

#include "kernel/base/clock.h"
#include "tests/kernel/fake_clock.h"
#include "tests/kernel/fake_sandbox.h"

#include "tests/kernel/frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static struct session *session;
static struct cell *cell;
static struct exchange exchange;
static int worker;

static const struct limits limits = {
    .values = {[LIMIT_CPU] = 1000, [LIMIT_MEMORY] = 1 << 20, [LIMIT_PROCESSES] = 8, [LIMIT_CPUS] = 1}};

static void start(const struct exchange_calls *calls, int64_t due_us) {
    struct error error = {0};
    const struct exchange_options options = {
        .calls = calls, .max_frame_bytes = 1 << 16, .due_us = due_us, .limits = &limits};
    json_t *request = json_pack("{s:s}", "type", "warm");
    assert_int_equal(cell_create(session, &(struct cell_options){.source = CELL_FROM_CURRENT}, &cell, &error), 0);
    assert_int_equal(exchange_start(&exchange, cell, request, &options), 0);
    worker = fake_next_cell(session);
    json_decref(request);
}

static int setup(void **state) {
    (void)state;
    fake_clock_stop();
    session = fake_session_create();
    exchange_init(&exchange);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    exchange_close(&exchange);
    cell_discard(cell);
    cell = NULL;
    session_destroy(session);
    fake_session_free(session);
    return 0;
}

static void say(json_t *json) {
    frames_say(worker, json);
}

static void say_done(void) {
    say(json_pack("{s:s, s:{s:s}}", "type", "done", "reply", "status", "ok"));
}

/* One turn of a loop that has nothing else. */
static enum exchange_state turn(void) {
    struct poll_set set;
    poll_set_init(&set);
    exchange_watch(&exchange, &set);
    poll_set_deadline(&set, 0);
    assert_int_equal(poll_set_turn(&set), 0);
    exchange_tick(&exchange, clock_us());
    return exchange.state;
}

static void test_exchange_is_done_with_the_workers_reply(void **state) {
    (void)state;
    start(NULL, CLOCK_NEVER);
    assert_int_equal(turn(), EXCHANGE_OPEN);
    say_done();
    assert_int_equal(turn(), EXCHANGE_DONE);
    assert_string_equal(json_string_value(json_object_get(exchange.reply, "status")), "ok");
}

static void test_exchange_without_calls_acknowledges_messages(void **state) {
    char bytes[256];
    (void)state;
    start(NULL, CLOCK_NEVER);
    assert_true(recv(worker, bytes, sizeof bytes, 0) > 0); /* the request */
    say(json_pack("{s:s, s:i}", "type", "sync", "seq", 7));
    assert_int_equal(turn(), EXCHANGE_OPEN);
    assert_true(exchange.has_frame);
    ssize_t n = recv(worker, bytes, sizeof bytes, 0);
    assert_true(n > 0);
    assert_non_null(memmem(bytes, (size_t)n, "\"ack\"", 5));
}

static void test_exchange_with_an_unexpected_frame_is_broken(void **state) {
    (void)state;
    start(NULL, CLOCK_NEVER);
    say(json_pack("{s:s}", "type", "ready"));
    assert_int_equal(turn(), EXCHANGE_BROKEN);
    assert_string_equal(exchange.why, "a frame of this type may not come now");
}

static void test_exchange_closed_by_a_living_worker_is_broken(void **state) {
    (void)state;
    start(NULL, CLOCK_NEVER);
    assert_int_equal(shutdown(worker, SHUT_WR), 0);
    assert_int_equal(turn(), EXCHANGE_OPEN);
    fake_clock_put_forward(CLOCK_S);
    assert_int_equal(turn(), EXCHANGE_BROKEN);
    assert_string_equal(exchange.why, "it was closed");
}

static void test_exchange_with_a_closed_socket_and_a_death_is_died(void **state) {
    (void)state;
    start(NULL, CLOCK_NEVER);
    assert_int_equal(shutdown(worker, SHUT_WR), 0);
    assert_int_equal(turn(), EXCHANGE_OPEN);
    fake_cell_dies(session, &(struct cell_end){.signaled = true, .signal = 9});
    assert_int_equal(turn(), EXCHANGE_DIED);
}

static void test_exchange_with_a_reply_before_a_death_is_done(void **state) {
    (void)state;
    start(NULL, CLOCK_NEVER);
    say_done();
    fake_cell_dies(session, &(struct cell_end){.exited = true});
    assert_int_equal(turn(), EXCHANGE_DONE);
}

static void test_exchange_with_a_reply_before_its_deadline_is_done(void **state) {
    (void)state;
    start(NULL, clock_us() + CLOCK_S);
    say_done();
    fake_clock_put_forward(2 * CLOCK_S);
    assert_int_equal(turn(), EXCHANGE_DONE);
}

static void test_exchange_after_its_deadline_is_late(void **state) {
    (void)state;
    start(NULL, clock_us() + CLOCK_S);
    assert_int_equal(turn(), EXCHANGE_OPEN);
    fake_clock_put_forward(2 * CLOCK_S);
    assert_int_equal(turn(), EXCHANGE_LATE);
}

static enum exchange_state state_over(const struct cell_usage *usage) {
    fake_plan(session, &(struct fake_plan){.usage = *usage});
    start(NULL, CLOCK_NEVER);
    fake_clock_put_forward(CLOCK_S);
    return turn();
}

static void test_exchange_over_its_cpu_time_ends(void **state) {
    (void)state;
    assert_int_equal(state_over(&(struct cell_usage){.cpu_us = 1001 * CLOCK_MS}), EXCHANGE_OVER_CPU);
}

static void test_exchange_over_its_memory_ends(void **state) {
    (void)state;
    assert_int_equal(state_over(&(struct cell_usage){.over_memory = true}), EXCHANGE_OVER_MEMORY);
}

static void test_exchange_over_its_descriptors_in_flight_ends(void **state) {
    (void)state;
    assert_int_equal(state_over(&(struct cell_usage){.over_in_flight = true}), EXCHANGE_OVER_IN_FLIGHT);
}

static void test_exchange_with_another_program_ends(void **state) {
    (void)state;
    assert_int_equal(state_over(&(struct cell_usage){.replaced = true}), EXCHANGE_REPLACED);
}

static void test_exchange_within_its_limits_goes_on(void **state) {
    (void)state;
    assert_int_equal(state_over(&(struct cell_usage){.cpu_us = 1000 * CLOCK_MS}), EXCHANGE_OPEN);
}

static bool hold(const struct exchange *held) {
    return *(const bool *)held->arg;
}

static void test_exchange_takes_nothing_while_it_is_held(void **state) {
    static const struct exchange_calls calls = {.holds = hold};
    bool held = true;
    (void)state;
    start(&calls, CLOCK_NEVER);
    exchange.arg = &held;
    say_done();
    assert_int_equal(turn(), EXCHANGE_OPEN);
    held = false;
    assert_int_equal(turn(), EXCHANGE_DONE);
}

static void test_exchange_end_after_the_first_is_ignored(void **state) {
    (void)state;
    start(NULL, CLOCK_NEVER);
    exchange_end(&exchange, EXCHANGE_LATE);
    say_done();
    fake_cell_dies(session, &(struct cell_end){.exited = true});
    assert_int_equal(turn(), EXCHANGE_LATE);
    assert_null(exchange.reply);
}

#define LIVE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE(test_exchange_is_done_with_the_workers_reply),
        LIVE(test_exchange_without_calls_acknowledges_messages),
        LIVE(test_exchange_with_an_unexpected_frame_is_broken),
        LIVE(test_exchange_closed_by_a_living_worker_is_broken),
        LIVE(test_exchange_with_a_closed_socket_and_a_death_is_died),
        LIVE(test_exchange_with_a_reply_before_a_death_is_done),
        LIVE(test_exchange_with_a_reply_before_its_deadline_is_done),
        LIVE(test_exchange_after_its_deadline_is_late),
        LIVE(test_exchange_over_its_cpu_time_ends),
        LIVE(test_exchange_over_its_memory_ends),
        LIVE(test_exchange_over_its_descriptors_in_flight_ends),
        LIVE(test_exchange_with_another_program_ends),
        LIVE(test_exchange_within_its_limits_goes_on),
        LIVE(test_exchange_takes_nothing_while_it_is_held),
        LIVE(test_exchange_end_after_the_first_is_ignored),
    };
    return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
