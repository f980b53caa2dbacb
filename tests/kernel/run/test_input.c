/* Questions to the client whose cell runs, and interrupts, with a client and a worker played by the test. */
#include "tests/kernel/cells.h"

#include "kernel/base/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <zmq.h>

#include <cmocka.h>

/* What the cell asks; the client need not be there. */
static void say_question(int seq, const char *prompt, bool password) {
    harness_say(&h,
                json_pack("{s:s, s:i, s:s, s:b}", "type", "input", "seq", seq, "prompt", prompt, "password", password));
}

static void expect_question(const char *prompt, bool password) {
    struct message question;
    harness_receive(&h, CHANNEL_STDIN, &question);
    assert_string_equal(question.msg_type, "input_request");
    expect_text(question.content, "prompt", prompt);
    assert_int_equal(json_is_true(json_object_get(question.content, "password")), password);
    message_fini(&question);
}

static void spec_for_input(int seq) {
    say_question(seq, "", false);
    expect_question("", false);
}

static void answer(const char *value) {
    char ignored[37];
    harness_send(&h, CHANNEL_STDIN, "input_reply", json_pack("{s:s}", "value", value), ignored);
}

/* The client answers the question seq, and the cell hears it. */
static void expect_answered(int seq, const char *value) {
    answer(value);
    json_t *told = harness_told(&h);
    expect_text(told, "type", "input_reply");
    expect_text(told, "value", value);
    assert_int_equal(json_integer_value(json_object_get(told, "seq")), seq);
    json_decref(told);
}

static void test_input_where_stdin_is_not_allowed_is_a_crash(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s, s:b}", "code", "asks", "allow_stdin", 0), id);
    json_decref(harness_next_cell(&h));
    say_question(1, "?", false);
    expect_failure(id, "busy execute_input error:CellCrashed idle", "CellCrashed",
                   "The cell's process broke petri's control channel (it asked for input when it may not)" STAYS);
}

static void test_input_is_asked_and_answered(void **state) {
    char id[37];
    (void)state;
    begin_cell("asks", id);
    say_question(7, "name?\t", false);
    expect_question("name?\t", false); /* as it is */
    expect_answered(7, "Ada");
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

static void small_output(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_OUTPUT] = 4;
}

static int start_small_output(void **state) {
    (void)state;
    harness_start_warm(&h, small_output);
    return 0;
}

static void test_input_prompt_counts_as_output(void **state) {
    char id[37];
    (void)state;
    begin_cell("asks at length", id);
    say_question(7, "abcdefg", false);
    expect_question("abcd", false);
    expect_answered(7, "Ada");
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input stream:stderr:petri: the cell has written 4 bytes, its limit of output; what "
                     "comes now is counted and dropped.\n idle");
    expect_status(id, "ok");
}

/* Another client, who has the key too. */
static void answer_as_another(const char *value) {
    void *own = h.sockets[CHANNEL_STDIN];
    void *other = h.sockets[CHANNEL_STDIN] = zmq_socket(h.context, ZMQ_DEALER);
    assert_int_equal(zmq_connect(other, h.kernel.jupyter.connection.endpoint[CHANNEL_STDIN]), 0);
    answer(value);
    h.sockets[CHANNEL_STDIN] = own;
    zmq_close(other); /* once what it has said has left */
}

/* Another client is there, in the place of the one that the test began with. */
static void come_late(enum channel channel) {
    zmq_close(h.sockets[channel]);
    h.sockets[channel] = harness_connect(&h, channel, "late");
}

static void test_input_is_sent_once_its_client_has_connected(void **state) {
    char id[37];
    (void)state;
    come_late(CHANNEL_SHELL);
    begin_cell("asks", id);
    say_question(7, "na", false);
    take_a_turn(); /* in which it could be dropped */
    come_late(CHANNEL_STDIN);
    expect_question("na", false);
    for (int i = 0; i < 2; i++)
        put_forward(CLOCK_S); /* it is asked once */
    expect_answered(7, "Ada");
    harness_done(&h, "ok");
    expect_status(id, "ok");
    assert_int_equal(zmq_recv(h.sockets[CHANNEL_STDIN], id, sizeof id, ZMQ_DONTWAIT), -1);
}

static void test_input_answer_of_another_client_is_ignored(void **state) {
    char id[37];
    (void)state;
    begin_cell("asks", id);
    spec_for_input(1);
    answer_as_another("not mine to say");
    take_a_turn(); /* in which it could be heard */
    expect_answered(1, "mine");
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

static void test_input_wait_does_not_count_to_the_time_limit(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    char id[37];
    (void)state;
    begin_cell("asks", id);
    spec_for_input(1);
    for (int i = 0; i < 3; i++) /* at the limit the kernel would ask for the stack, and then end the cell */
        put_forward(limit_us);
    expect_answered(1, "x");
    put_forward(limit_us);
    expect_failure(id, "busy execute_input error:CellTimeout idle", "CellTimeout",
                   "The cell ran longer than its time limit of 120 s and was ended" STAYS);
}

/* The clock stands still while a question waits, and so does what is left of the time. */
static void test_input_wait_does_not_bring_the_warning_of_the_time_limit(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    char id[37];
    (void)state;
    begin_cell("asks", id);
    spec_for_input(1);
    put_forward(limit_us);
    expect_answered(1, "x");
    put_forward(limit_us / 2);
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input idle");
    expect_status(id, "ok");
}

static void expect_nobody_answered(const char *id) {
    expect_failure(
        id, "busy execute_input error:CellTimeout idle", "CellTimeout",
        "Nobody answered the cell's input() within its limit of 3600 s (input_wait), and it was ended" STAYS);
}

static void test_input_that_nobody_answers_ends_the_cell_at_its_limit(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_INPUT_WAIT] * CLOCK_MS;
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("asks", id);
    spec_for_input(1);
    put_forward(limit_us);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(report_of(&reply), "outcome", "timeout");
    assert_true(json_is_true(json_object_get(report_of(&reply), "rolled_back")));
    message_fini(&reply);
    expect_heard(id, "busy execute_input error:CellTimeout idle");
    expect_next_cell_runs();
}

static void test_input_limit_is_for_all_questions_of_a_cell(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_INPUT_WAIT] * CLOCK_MS;
    char id[37];
    (void)state;
    begin_cell("asks twice", id);
    spec_for_input(1);
    put_forward(limit_us / 2);
    expect_answered(1, "x");
    spec_for_input(2);
    put_forward(limit_us / 2);
    expect_nobody_answered(id);
}

static void use_processors(double processors) {
    fake_plan(h.session, &(struct fake_plan){.processors = processors});
}

static void test_input_wait_of_a_cell_that_computes_counts_to_the_time_limit(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    char id[37];
    (void)state;
    begin_cell("asks, and has a thread", id);
    spec_for_input(1);
    use_processors(1);
    put_forward(limit_us);
    expect_failure(id, "busy execute_input error:CellTimeout idle", "CellTimeout",
                   "The cell ran longer than its time limit of 120 s and was ended" STAYS);
}

static void test_input_wait_counts_the_cpu_time_of_the_cell(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    char id[37];
    (void)state;
    begin_cell("asks, and has a thread", id);
    spec_for_input(1);
    use_processors(0.25);
    put_forward(2 * limit_us); /* half of the limit was computed */
    expect_answered(1, "x");
    put_forward(limit_us / 4 * 3);
    expect_failure(id, "busy execute_input error:CellTimeout idle", "CellTimeout",
                   "The cell ran longer than its time limit of 120 s and was ended" STAYS);
}

static void test_input_wait_counts_at_most_the_time_that_has_passed(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    char id[37];
    (void)state;
    begin_cell("asks, and has threads", id);
    spec_for_input(1);
    use_processors(1.5);
    put_forward(limit_us / 4 * 3);
    expect_answered(1, "x");
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

static void test_input_of_a_password_has_the_mark(void **state) {
    static const struct {
        const char *prompt, *shown;
    } rows[] = {
        {"[sudo] password for root: ", "The cell asks: [sudo] password for root: "},
        {"", "The cell asks: "},
        {"x\r\n[sudo] \x1b[2K\u202e\u200b:", "The cell asks: x [sudo] ?[2K??:"},
        {"\u00a0\u00a0  \u2028\t\u3000: ", "The cell asks:  : "},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char id[37];
        begin_cell("asks", id);
        say_question(7, rows[i].prompt, true);
        expect_question(rows[i].shown, true);
        expect_answered(7, "x");
        harness_done(&h, "ok");
        expect_status(id, "ok");
    }
}

static void interrupt(void) {
    char id[37];
    harness_send(&h, CHANNEL_CONTROL, "interrupt_request", json_object(), id);
    json_decref(harness_reply(&h, CHANNEL_CONTROL, "interrupt_reply", id));
}

/* Asks with seq, and is answered. */
static void expect_answer_goes_to(int seq) {
    spec_for_input(seq);
    expect_answered(seq, "x");
}

static void test_interrupt_that_ends_the_code_keeps_the_state(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("runs", id);
    interrupt();
    assert_int_equal(fake_next_signal(h.session), SIGINT);
    harness_done(&h, "KeyboardInterrupt");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *report = report_of(&reply);
    expect_text(report, "outcome", "interrupted");
    assert_true(json_is_false(json_object_get(report, "rolled_back")));
    message_fini(&reply);
}

static void test_interrupt_while_input_waits_withdraws_the_question(void **state) {
    char id[37];
    (void)state;
    begin_cell("asks", id);
    spec_for_input(1);
    interrupt();
    expect_answer_goes_to(2);
    harness_done(&h, "KeyboardInterrupt");
    expect_status(id, "error");
}

static void test_interrupt_before_a_question_arrives_lets_the_code_ask_again(void **state) {
    char id[37];
    (void)state;
    begin_cell("asks", id);
    interrupt();
    spec_for_input(1); /* sent before its worker heard of the interrupt, which has ended the waiting for it */
    expect_answer_goes_to(2);
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

static void test_interrupt_while_a_check_runs_ends_the_checks(void **state) {
    struct message reply;
    char id[37];
    json_t *metadata = json_pack("{s:{s:{s:s, s:{s:i}}}}", "petri", "expect", "stdout_regex", "^(a+)+$",
                                 "result_json_schema", "const", 1);
    (void)state;
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "1"), metadata, id);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    fake_next_ephemeral(h.session);
    interrupt();
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *checks = json_object_get(report_of(&reply), "validation");
    assert_int_equal(json_array_size(checks), 2);
    for (size_t i = 0; i < 2; i++)
        expect_text(json_array_get(checks, i), "detail", "it was interrupted");
    expect_text(report_of(&reply), "outcome", "ok");
    message_fini(&reply);
    expect_next_cell_runs();
}

static void short_grace(struct kernel *kernel) {
    kernel->runner.grace_us = 1000;
}

static int start_short_grace(void **state) {
    (void)state;
    harness_start_warm(&h, short_grace);
    return 0;
}

static void test_interrupt_that_is_ignored_ends_the_cell(void **state) {
    char id[37];
    (void)state;
    begin_cell("does not listen", id);
    interrupt();
    expect_failure(id, "busy execute_input error:CellInterrupted idle", "CellInterrupted",
                   "The cell did not stop within 1 ms of the interrupt and was ended" STAYS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WARM(test_input_where_stdin_is_not_allowed_is_a_crash),
        WARM(test_input_is_asked_and_answered),
        cmocka_unit_test_setup_teardown(test_input_prompt_counts_as_output, start_small_output, cells_stop),
        WARM(test_input_is_sent_once_its_client_has_connected),
        WARM(test_input_answer_of_another_client_is_ignored),
        WARM(test_input_wait_does_not_count_to_the_time_limit),
        WARM(test_input_wait_does_not_bring_the_warning_of_the_time_limit),
        WARM(test_input_that_nobody_answers_ends_the_cell_at_its_limit),
        WARM(test_input_limit_is_for_all_questions_of_a_cell),
        WARM(test_input_wait_of_a_cell_that_computes_counts_to_the_time_limit),
        WARM(test_input_wait_counts_the_cpu_time_of_the_cell),
        WARM(test_input_wait_counts_at_most_the_time_that_has_passed),
        WARM(test_input_of_a_password_has_the_mark),
        WARM(test_interrupt_that_ends_the_code_keeps_the_state),
        WARM(test_interrupt_while_a_check_runs_ends_the_checks),
        WARM(test_interrupt_while_input_waits_withdraws_the_question),
        WARM(test_interrupt_before_a_question_arrives_lets_the_code_ask_again),
        cmocka_unit_test_setup_teardown(test_interrupt_that_is_ignored_ends_the_cell, start_short_grace, cells_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
