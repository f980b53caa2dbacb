/* Output that a widget takes: the reply comes once the front end has said so of each piece. */
#include "tests/kernel/cells.h"

#include "kernel/base/clock.h"
#include "kernel/dispatch.h"
#include "kernel/run/captures.h"
#include "kernel/run/execute.h"
#include "kernel/run/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { ROUNDS = 50 };

/* Nobody gives up while the test looks. */
static void patient(struct kernel *kernel) {
    kernel->runner.hold_us = 1000 * CLOCK_S;
}

static void hasty(struct kernel *kernel) {
    kernel->runner.hold_us = 10 * CLOCK_MS;
}

static int start_patient(void **state) {
    (void)state;
    harness_start_warm(&h, patient);
    return 0;
}

static int start_hasty(void **state) {
    (void)state;
    harness_start_warm(&h, hasty);
    return 0;
}

static void say(int seq, const char *msg_type, json_t *content) {
    harness_say(&h, json_pack("{s:s, s:i, s:s, s:o, s:{}}", "type", "publish", "seq", seq, "msg_type", msg_type,
                              "content", content, "metadata"));
    expect_ack(seq);
}

/* The widget takes the output of a request. */
static void take(int seq, const char *comm_id, const char *msg_id) {
    say(seq, "comm_msg",
        json_pack("{s:s, s:{s:s, s:{s:s}}}", "comm_id", comm_id, "data", "method", "update", "state", "msg_id",
                  msg_id));
}

static void display(int seq) {
    say(seq, "display_data", json_pack("{s:{s:s}, s:{}}", "data", "text/plain", "shown", "metadata"));
}

static void echo(const char *comm_id) {
    char id[37];
    harness_send(&h, CHANNEL_SHELL, "comm_msg", json_pack("{s:s, s:{}}", "comm_id", comm_id, "data"), id);
}

/* Turns of the loop, in which a reply could come; what is asked on shell is taken in order. */
static void expect_no_reply(void) {
    char id[37];
    struct message reply;
    for (int i = 0; i < ROUNDS; i++) {
        harness_send(&h, CHANNEL_SHELL, "history_request",
                     json_pack("{s:s, s:b}", "hist_access_type", "tail", "raw", 1), id);
        harness_receive(&h, CHANNEL_SHELL, &reply);
        assert_string_equal(reply.msg_type, "history_reply");
        message_fini(&reply);
    }
}

static void begin_taken(char id[37]) {
    begin_cell("with output: ...", id);
    take(1, "widget", id);
    display(2);
    write_all(fake_stdout_fd(h.session), "printed");
    say(3, "clear_output", json_pack("{s:b}", "wait", 1));
    take(4, "widget", "");
    display(5); /* under the cell */
    harness_done(&h, "ok");
}

static void test_reply_with_captured_output_waits_for_all_answers(void **state) {
    char id[37];
    (void)state;
    begin_taken(id);
    expect_no_reply();
    echo("another");
    echo("widget");
    expect_no_reply();
    echo("widget");
    expect_status(id, "ok");
}

static void test_reply_with_unanswered_output_waits_for_a_bounded_time(void **state) {
    char id[37];
    (void)state;
    begin_taken(id);
    expect_status(id, "ok");
}

static void test_interrupt_while_a_reply_waits_sends_it(void **state) {
    char id[37], interrupt[37];
    (void)state;
    begin_taken(id);
    expect_no_reply();
    harness_send(&h, CHANNEL_CONTROL, "interrupt_request", json_object(), interrupt);
    json_decref(harness_reply(&h, CHANNEL_CONTROL, "interrupt_reply", interrupt));
    expect_status(id, "ok");
}

static void test_reply_without_captured_output_does_not_wait(void **state) {
    char id[37];
    (void)state;
    begin_cell("output.msg_id = 'of another'", id);
    take(1, "widget", "of another");
    display(2);
    take(3, "widget", id);
    take(4, "widget", "");
    display(5);
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

/* What hostile code says of widgets: no more is remembered than there is room for, and the cell has its reply. */
static void test_widgets_that_are_malformed_or_too_many_are_ignored(void **state) {
    static const char *const strange[] = {"null", "[]", "{}", "\"x\"", "{\"state\":[]}", "{\"state\":{\"msg_id\":7}}"};
    char id[37], comm_id[32];
    int seq = 0;
    (void)state;
    begin_cell("1", id);
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
        say(++seq, "comm_msg",
            json_pack("{s:s, s:o}", "comm_id", "widget", "data", json_loads(strange[i], JSON_DECODE_ANY, NULL)));
    for (int i = 0; i < 200; i++) {
        snprintf(comm_id, sizeof comm_id, "widget-%d", i);
        take(++seq, comm_id, id);
    }
    display(++seq);
    harness_done(&h, "ok");
    expect_no_reply();
    echo("widget-199");
    expect_no_reply();
    echo("widget-0");
    expect_status(id, "ok");
}

/* A front end that has not answered a piece is not waited for as long again. */
static void test_reply_after_an_unanswered_one_waits_less(void **state) {
    struct captures first = {.due = 1}, second = first;
    int64_t hold_us = CAPTURES_HOLD_MS * CLOCK_MS;
    (void)state;
    assert_true(captures_wait(&first, 0, &hold_us));
    assert_true(captures_wait(&first, CAPTURES_HOLD_MS * CLOCK_MS - 1, &hold_us));
    assert_false(captures_wait(&first, CAPTURES_HOLD_MS * CLOCK_MS, &hold_us));
    assert_true(captures_wait(&second, 0, &hold_us));
    assert_false(captures_wait(&second, CAPTURES_HOLD_UNANSWERED_MS * CLOCK_MS, &hold_us));
}

#define PATIENT(test) cmocka_unit_test_setup_teardown(test, start_patient, cells_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        PATIENT(test_reply_with_captured_output_waits_for_all_answers),
        PATIENT(test_interrupt_while_a_reply_waits_sends_it),
        PATIENT(test_reply_without_captured_output_does_not_wait),
        PATIENT(test_widgets_that_are_malformed_or_too_many_are_ignored),
        cmocka_unit_test_setup_teardown(test_reply_with_unanswered_output_waits_for_a_bounded_time, start_hasty,
                                        cells_stop),
        cmocka_unit_test(test_reply_after_an_unanswered_one_waits_less),
    };
    return cmocka_run_group_tests_name("captures", tests, NULL, NULL);
}
