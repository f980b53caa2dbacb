/* Completion, inspection and is-complete, beside a cell, within limits of their own. */
#include "tests/kernel/cells.h"

#include "kernel/base/clock.h"
#include "tests/kernel/fake_clock.h"
#include "tests/kernel/frames.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static json_t *ask(enum channel channel, const char *msg_type, json_t *content, const char *reply_type) {
    char id[37];
    harness_send(&h, channel, msg_type, content, id);
    return harness_reply(&h, channel, reply_type, id);
}

static void test_is_complete_runs_beside_a_cell(void **state) {
    char cell[37], id[37];
    (void)state;
    harness_execute(&h, "runs", cell);
    json_decref(harness_next_cell(&h));
    harness_send(&h, CHANNEL_SHELL, "is_complete_request", json_pack("{s:s}", "code", "if x:"), id);
    int worker = fake_next_ephemeral(h.session);
    frames_say(worker,
               json_pack("{s:s, s:{s:s, s:s}}", "type", "done", "reply", "status", "incomplete", "indent", "    "));
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "is_complete_reply", id);
    expect_text(content, "status", "incomplete");
    json_decref(content);
    /* When the cell began, and when what ran beside it had said that it is idle. */
    for (int i = 0; i < 2; i++) {
        struct message message;
        harness_wait_published(&h, "status", cell, &message);
        expect_text(message.content, "execution_state", "busy");
        message_fini(&message);
    }
    harness_done(&h, "ok");
    json_decref(harness_reply(&h, CHANNEL_SHELL, "execute_reply", cell));
    assert_null(strstr(fake_story(h.session), "discard")); /* of the cell beside which it ran */
}

static void test_is_complete_without_an_answer_is_unknown(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "is_complete_request", json_pack("{s:s}", "code", "x"), id);
    fake_next_ephemeral(h.session);
    put_forward(CLOCK_S);
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "is_complete_reply", id);
    expect_text(content, "status", "unknown");
    json_decref(content);
}

static void send_complete(char id[37]) {
    harness_send(&h, CHANNEL_SHELL, "complete_request", json_pack("{s:s, s:i}", "code", "abc", "cursor_pos", 2), id);
}

static void expect_no_matches(const char *id) {
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "complete_reply", id);
    expect_text(content, "status", "ok");
    assert_int_equal(json_array_size(json_object_get(content, "matches")), 0);
    json_decref(content);
}

static void few_limits(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_TIMEOUT] = 500;
    kernel->runner.limits.values[LIMIT_CPU] = 100;
    kernel->runner.limits.values[LIMIT_MEMORY] = 64 << 20;
    kernel->runner.limits.values[LIMIT_PROCESSES] = 8;
    kernel->runner.limits.values[LIMIT_CPUS] = 1;
}

static int start_few_limits(void **state) {
    (void)state;
    harness_start_warm(&h, few_limits);
    fake_clock_stop();
    return 0;
}

static void test_complete_has_at_most_the_limits_of_the_session(void **state) {
    char id[37];
    (void)state;
    send_complete(id);
    fake_next_ephemeral(h.session);
    struct cell_limits limits = fake_limits(h.session, CELL_EPHEMERAL);
    assert_int_equal(limits.memory_bytes, 64 << 20);
    assert_int_equal(limits.processes, 8);
    assert_int_equal(limits.cpus, 1);
    put_forward(500 * CLOCK_MS); /* not the ten seconds of a first one */
    expect_no_matches(id);
}

static void test_complete_over_the_cpu_limit_has_no_matches(void **state) {
    char id[37];
    (void)state;
    send_complete(id);
    fake_next_ephemeral(h.session);
    fake_plan(h.session, &(struct fake_plan){.processors = 1});
    put_forward(200 * CLOCK_MS);
    expect_no_matches(id);
    send_complete(id); /* is alive */
    fake_next_ephemeral(h.session);
}

static void send_inspect(char id[37]) {
    harness_send(&h, CHANNEL_SHELL, "inspect_request", json_pack("{s:s, s:i}", "code", "abc", "cursor_pos", 2), id);
}

static void expect_not_found(const char *id) {
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "inspect_reply", id);
    expect_text(content, "status", "ok");
    assert_true(json_is_false(json_object_get(content, "found")));
    json_decref(content);
}

/* The next cell answers with one match, which the reply then has. */
static void expect_match(const char *id) {
    frames_say(fake_next_ephemeral(h.session),
               json_pack("{s:s, s:{s:s, s:[s]}}", "type", "done", "reply", "status", "ok", "matches", "abcd"));
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "complete_reply", id);
    assert_int_equal(json_array_size(json_object_get(content, "matches")), 1);
    json_decref(content);
}

static void test_inspections_at_once_are_no_more_than_processors(void **state) {
    enum { N = 3 };
    char ids[N][37];
    (void)state;
    for (int i = 0; i < N; i++)
        send_inspect(ids[i]);
    for (int i = 0; i < N; i++) {
        frames_say(fake_next_ephemeral(h.session),
                   json_pack("{s:s, s:{s:s}}", "type", "done", "reply", "status", "ok"));
        expect_not_found(ids[i]);
    }
    assert_int_equal(fake_most(h.session, CELL_EPHEMERAL), 1);
}

static void test_complete_overtaken_while_it_runs_is_ended_at_once(void **state) {
    char id[37], next[37];
    (void)state;
    send_complete(id);
    fake_next_ephemeral(h.session);
    send_complete(next);
    expect_no_matches(id);
    expect_match(next);
    take_a_turn();
    assert_string_equal(fake_ephemeral_story(h.session), "create start discard create start discard");
}

static void test_complete_overtaken_while_it_waits_gets_no_cell(void **state) {
    char inspect[37], id[37], next[37];
    (void)state;
    send_inspect(inspect);
    fake_next_ephemeral(h.session); /* and takes the only processor */
    send_complete(id);
    take_a_turn();
    send_complete(next);
    expect_no_matches(id);
    put_forward(500 * CLOCK_MS);
    expect_not_found(inspect);
    expect_match(next);
}

static void test_complete_is_not_overtaken_by_another_client(void **state) {
    char id[37], other[37];
    (void)state;
    send_complete(id);
    int worker = fake_next_ephemeral(h.session);
    h.client = "another-session";
    send_complete(other);
    expect_match(other);
    h.client = NULL;
    frames_say(worker, json_pack("{s:s, s:{s:s, s:[s]}}", "type", "done", "reply", "status", "ok", "matches", "abcd"));
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "complete_reply", id);
    assert_int_equal(json_array_size(json_object_get(content, "matches")), 1);
    json_decref(content);
}

static void test_inspect_is_not_overtaken_by_a_completion(void **state) {
    char inspect[37], id[37];
    (void)state;
    send_inspect(inspect);
    int worker = fake_next_ephemeral(h.session);
    send_complete(id);
    expect_match(id);
    frames_say(worker, json_pack("{s:s, s:{s:s}}", "type", "done", "reply", "status", "ok"));
    expect_not_found(inspect);
    assert_int_equal(fake_most(h.session, CELL_EPHEMERAL), 2);
}

/* Reads what the kernel sends to such a cell until its sync is answered. */
static void say_sync(int worker) {
    char text[4096];
    size_t n = 0;
    frames_say(worker, json_pack("{s:s, s:i}", "type", "sync", "seq", 1));
    while (!memmem(text, n, "\"ack\"", 5)) {
        ssize_t more = read(worker, text + n, sizeof text - n);
        assert_true(more > 0);
        n += (size_t)more;
    }
}

static void test_complete_has_two_seconds_also_if_it_loads_first(void **state) {
    char id[37];
    (void)state;
    send_complete(id);
    int worker = fake_next_ephemeral(h.session);
    put_forward(CLOCK_S);
    say_sync(worker);
    put_forward(900 * CLOCK_MS);
    assert_null(strstr(fake_ephemeral_story(h.session), "discard"));
    put_forward(100 * CLOCK_MS);
    expect_no_matches(id);
}

static void test_complete_that_loads_for_long_has_one_second_afterwards(void **state) {
    char id[37];
    (void)state;
    send_complete(id);
    int worker = fake_next_ephemeral(h.session);
    put_forward(5 * CLOCK_S);
    say_sync(worker);
    put_forward(900 * CLOCK_MS);
    assert_null(strstr(fake_ephemeral_story(h.session), "discard"));
    put_forward(100 * CLOCK_MS);
    expect_no_matches(id);
}

static void one_processor(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_CPUS] = 1;
}

static int start_one_processor(void **state) {
    (void)state;
    harness_start_warm(&h, one_processor);
    fake_clock_stop();
    return 0;
}

static void test_inspect_that_runs_longest_is_ended_for_a_waiting_request(void **state) {
    char endless[37], id[37];
    (void)state;
    send_inspect(endless);
    fake_next_ephemeral(h.session);
    send_complete(id);
    put_forward(500 * CLOCK_MS);
    expect_not_found(endless);
    expect_match(id);
}

static void test_complete_that_breaks_the_wire_has_no_matches(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "complete_request", json_pack("{s:s, s:i}", "code", "abc", "cursor_pos", 2), id);
    frames_say(fake_next_ephemeral(h.session), json_pack("{s:s}", "type", "hello"));
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "complete_reply", id);
    expect_text(content, "status", "ok");
    assert_int_equal(json_array_size(json_object_get(content, "matches")), 0);
    assert_int_equal(json_integer_value(json_object_get(content, "cursor_end")), 2);
    json_decref(content);
}

static void test_inspect_without_a_sandbox_finds_nothing(void **state) {
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.create_ephemeral = -EPERM, .detail = "no"});
    json_t *content = ask(CHANNEL_SHELL, "inspect_request", json_pack("{s:s}", "code", "x"), "inspect_reply");
    expect_text(content, "status", "ok");
    assert_true(json_is_false(json_object_get(content, "found")));
    json_decref(content);
}

#define ONE(test) cmocka_unit_test_setup_teardown(test, start_one_processor, cells_stop)
#define FEW(test) cmocka_unit_test_setup_teardown(test, start_few_limits, cells_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        STILL(test_is_complete_runs_beside_a_cell),
        STILL(test_is_complete_without_an_answer_is_unknown),
        FEW(test_complete_has_at_most_the_limits_of_the_session),
        FEW(test_complete_over_the_cpu_limit_has_no_matches),
        FEW(test_inspections_at_once_are_no_more_than_processors),
        STILL(test_complete_overtaken_while_it_runs_is_ended_at_once),
        ONE(test_complete_overtaken_while_it_waits_gets_no_cell),
        STILL(test_complete_is_not_overtaken_by_another_client),
        STILL(test_inspect_is_not_overtaken_by_a_completion),
        STILL(test_complete_has_two_seconds_also_if_it_loads_first),
        STILL(test_complete_that_loads_for_long_has_one_second_afterwards),
        ONE(test_inspect_that_runs_longest_is_ended_for_a_waiting_request),
        STILL(test_complete_that_breaks_the_wire_has_no_matches),
        STILL(test_inspect_without_a_sandbox_finds_nothing),
    };
    return cmocka_run_group_tests_name("introspection", tests, NULL, NULL);
}
