/* What runs that run at once have in common: the client's answers, the session, a task's budget. */
#include "tests/kernel/beside.h"
#include "tests/kernel/frames.h"

#include "kernel/base/clock.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

static void expect_asked(const char *prompt) {
    struct message question;
    harness_receive(&h, CHANNEL_STDIN, &question);
    expect_text(question.content, "prompt", prompt);
    message_fini(&question);
}

static void expect_not_asked(void) {
    char byte;
    take_a_turn();
    assert_int_equal(zmq_recv(h.sockets[CHANNEL_STDIN], &byte, 1, ZMQ_DONTWAIT), -1);
}

/* The client answers, and this worker hears it. */
static void expect_answer(struct harness_worker *worker, const char *value) {
    char ignored[37];
    harness_send(&h, CHANNEL_STDIN, "input_reply", json_pack("{s:s}", "value", value), ignored);
    harness_play(&h, worker);
    json_t *told = harness_told(&h);
    expect_text(told, "type", "input_reply");
    expect_text(told, "value", value);
    json_decref(told);
}

static void test_beside_each_other_runs_ask_one_after_the_other(void **state) {
    char own[37], first[37], second[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("1", &fresh_a, first);
    begin_fresh("2", &fresh_b, second);
    ask(&fresh_b, "b?");
    expect_asked("b?");
    ask(NULL, "own?");
    take_a_turn();
    ask(&fresh_a, "a?");
    expect_not_asked();
    expect_answer(&fresh_b, "for b");
    expect_asked("own?");
    ask(&fresh_b, "b again?"); /* that of a was asked before */
    expect_answer(NULL, "for the session");
    expect_asked("a?");
    expect_answer(&fresh_a, "for a");
    expect_asked("b again?");
    expect_answer(&fresh_b, "for b again");
    end(&fresh_a, "ok");
    expect_outcome(first, "ok");
}

static void test_beside_a_run_that_dies_while_it_asks_the_other_asks(void **state) {
    static const struct cell_end killed = {.signaled = true, .signal = SIGKILL};
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    ask(&fresh_a, "a?");
    expect_asked("a?");
    ask(NULL, "own?");
    expect_not_asked();
    fake_dies(fresh_a.cell, &killed);
    expect_asked("own?");
    expect_answer(NULL, "x");
}

static void test_beside_a_run_that_is_interrupted_while_it_asks_the_other_asks(void **state) {
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    ask(NULL, "own?");
    expect_asked("own?");
    ask(&fresh_a, "a?");
    expect_not_asked();
    interrupt(json_pack("{s:s}", "request", own), "ok");
    expect_asked("a?");
    expect_answer(&fresh_a, "x");
}

/* An answer that comes late must not be taken for that to another question, of a password say. */
static void test_beside_another_an_answer_to_its_question_is_not_taken(void **state) {
    char own[37], fresh[37], ignored[37];
    struct message question;
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    ask(&fresh_a, "a?");
    harness_receive(&h, CHANNEL_STDIN, &question);
    ask(NULL, "own?");
    interrupt(json_pack("{s:s}", "request", fresh), "ok");
    expect_asked("own?");
    h.parent = question.header;
    harness_send(&h, CHANNEL_STDIN, "input_reply", json_pack("{s:s}", "value", "for a"), ignored);
    h.parent = NULL;
    take_a_turn();
    expect_answer(NULL, "for the session");
    message_fini(&question);
}

static void test_beside_another_question_the_time_of_one_does_not_count(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_INPUT_WAIT] * CLOCK_MS;
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    ask(&fresh_a, "a?");
    expect_asked("a?");
    ask(NULL, "own?");
    put_forward(limit_us);
    expect_outcome(fresh, "timeout");
    expect_asked("own?");
    expect_answer(NULL, "in time");
    end(NULL, "ok");
    expect_outcome(own, "ok");
}

/* Its question is not out, so it is in nobody's way. */
static void test_beside_a_run_whose_client_is_not_there_the_other_asks(void **state) {
    void *client = h.sockets[CHANNEL_SHELL];
    char own[37], fresh[37];
    (void)state;
    h.sockets[CHANNEL_SHELL] = harness_connect(&h, CHANNEL_SHELL, "another");
    begin_fresh("fresh", &fresh_a, fresh);
    ask(&fresh_a, "a?");
    zmq_close(h.sockets[CHANNEL_SHELL]);
    h.sockets[CHANNEL_SHELL] = client;
    begin_cell("own", own);
    ask(NULL, "own?");
    expect_asked("own?");
    expect_answer(NULL, "x");
}

/* What this run's report says of its limit of time. */
static void expect_timeout_ms(const char *id, int timeout_ms) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.parent, "msg_id", id);
    const json_t *limits = json_object_get(report_of(&reply), "limits");
    assert_int_equal(json_integer_value(json_object_get(limits, "timeout_ms")), timeout_ms);
    message_fini(&reply);
}

static void test_beside_the_session_its_limits_are_not_changed(void **state) {
    char fresh[37], own[37];
    (void)state;
    send_fresh("%limits timeout=10s\n1", fresh);
    expect_failure(
        fresh, "busy execute_input error:CellRefused idle", "CellRefused",
        "The cell was not run: %limits sets the limits of the session, which a run that is not committed does not change; "
        "begin it with %%limits to set those of this run" STAYS);
    begin_fresh("%%limits timeout=10s\n1", &fresh_a, fresh);
    end(&fresh_a, "ok");
    expect_timeout_ms(fresh, 10000);
    begin_cell("own", own);
    end(NULL, "ok");
    expect_timeout_ms(own, 120000);
}

/* What a cell has changed while the fresh run ran holds: it is not put back to what it was before. */
static void test_beside_a_fresh_run_the_sessions_limits_are_its_own(void **state) {
    char fresh[37], own[37];
    (void)state;
    begin_fresh("fresh", &fresh_a, fresh);
    begin_cell("%limits timeout=10s\n1", own);
    end(NULL, "ok");
    expect_timeout_ms(own, 10000);
    end(&fresh_a, "ok");
    expect_timeout_ms(fresh, 120000);
    begin_cell("own", own);
    end(NULL, "ok");
    expect_timeout_ms(own, 10000);
}

static void say_comm(struct harness_worker *worker, int seq, const char *msg_type, const char *comm_id) {
    harness_play(&h, worker);
    harness_say(&h, json_pack("{s:s, s:i, s:s, s:{s:s, s:s, s:{}}}", "type", "publish", "seq", seq, "msg_type",
                              msg_type, "content", "comm_id", comm_id, "target_name", "t", "data"));
    expect_ack(seq);
}

static void test_beside_the_session_its_comms_are_not_changed(void **state) {
    char own[37], fresh[37], info[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    say_comm(NULL, 1, "comm_open", "of the session");
    say_comm(&fresh_a, 1, "comm_open", "of a");
    say_comm(&fresh_a, 2, "comm_close", "of the session");
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
    say_comm(NULL, 2, "comm_open", "another");
    end(NULL, "ok");
    expect_outcome(own, "ok");
    harness_send(&h, CHANNEL_SHELL, "comm_info_request", json_object(), info);
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "comm_info_reply", info);
    const json_t *comms = json_object_get(content, "comms");
    assert_int_equal(json_object_size(comms), 2);
    assert_non_null(json_object_get(comms, "of the session"));
    assert_non_null(json_object_get(comms, "another"));
    json_decref(content);
}

/* Refused, for its task has no time left. How much that has used no test knows: the test's own time counts as well. */
static void expect_over_time_budget(const char *id) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.parent, "msg_id", id);
    expect_text(reply.content, "ename", "BudgetExceeded");
    const char *evalue = json_string_value(json_object_get(reply.content, "evalue"));
    assert_non_null(strstr(evalue, " of time and its limit budget is 10 s" STAYS));
    message_fini(&reply);
}

static void send_of_task(const char *task, char id[37]) {
    send_with("1", json_pack("{s:b, s:s, s:{s:i}}", "fresh", 1, "task", task, "limits", "runs", 1), id);
}

static void test_beside_another_run_of_its_task_a_run_counts_for_the_budget(void **state) {
    char first[37], second[37], other[37];
    (void)state;
    send_of_task("T", first);
    expect_begun(&fresh_a);
    send_of_task("T", second);
    expect_failure(second, "busy execute_input error:BudgetExceeded idle", "BudgetExceeded",
                   "The cell was not run: task T has used 1 runs and its limit runs is 1" STAYS);
    send_of_task("U", other);
    expect_begun(&fresh_b);
    end(&fresh_b, "ok");
    expect_outcome(other, "ok");
    end(&fresh_a, "ok");
    expect_outcome(first, "ok");
}

static void test_beside_another_run_of_its_task_its_time_counts(void **state) {
    char first[37], second[37];
    json_t *petri = json_pack("{s:b, s:s, s:{s:s}}", "fresh", 1, "task", "T", "limits", "budget", "10s");
    (void)state;
    send_with("1", json_incref(petri), first);
    expect_begun(&fresh_a);
    put_forward(11 * CLOCK_S);
    send_with("1", petri, second);
    expect_over_time_budget(second);
    end(&fresh_a, "ok");
    expect_outcome(first, "ok");
}

/* The session's cell is ended for its time while something takes long for the fresh run, which goes on. */
static void expect_ended_meanwhile(const char *own, const char *story) {
    expect_outcome(own, "timeout");
    assert_non_null(strstr(fake_story(h.session), story));
}

static void test_beside_another_whose_end_takes_long_the_time_limit_holds(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    fake_plan(h.session, &(struct fake_plan){.discard_us = 2 * limit_us});
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
    expect_ended_meanwhile(own, "kill beside:discard");
}

static void test_beside_another_whose_cell_takes_long_to_make_the_time_limit_holds(void **state) {
    const int64_t limit_us = h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    fake_plan(h.session, &(struct fake_plan){.create_us = 2 * limit_us});
    begin_fresh("fresh", &fresh_a, fresh);
    expect_ended_meanwhile(own, "kill beside:create");
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
}

static bool says_done;

static void say_own_is_done(void) {
    if (says_done)
        frames_say(h.own.fd, json_pack("{s:s, s:{s:s, s:{}, s:[]}}", "type", "done", "reply", "status", "ok",
                                       "user_expressions", "payload"));
    says_done = false;
}

/* Nothing else happens afterwards that would make the loop look. */
static void test_beside_cell_that_is_done_while_another_ends_is_answered(void **state) {
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    says_done = true;
    fake_plan(h.session, &(struct fake_plan){.discard_us = CLOCK_MS, .meanwhile = say_own_is_done});
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
    expect_outcome(own, "ok");
}

static void interrupt_all(void) {
    runner_interrupt(&h.kernel.runner);
}

static void test_beside_interrupt_while_a_cell_is_made_reaches_it(void **state) {
    char fresh[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.create_us = CLOCK_MS, .meanwhile = interrupt_all});
    begin_fresh("fresh", &fresh_a, fresh);
    assert_int_equal(fake_next_signal_of(fresh_a.cell), SIGINT);
    fake_plan(h.session, &(struct fake_plan){0});
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
}

/* A check's cell is measured with all others of its kind. */
static void test_beside_each_other_runs_are_checked_one_after_the_other(void **state) {
    json_t *petri = json_pack("{s:b, s:{s:s}}", "fresh", 1, "expect", "stdout_regex", "x");
    char first[37], second[37];
    (void)state;
    send_with("1", json_incref(petri), first);
    expect_begun(&fresh_a);
    send_with("2", petri, second);
    expect_begun(&fresh_b);
    end(&fresh_a, "ok");
    const int check = fake_next_ephemeral(h.session);
    end(&fresh_b, "ok");
    put_forward(CLOCK_S);
    frames_say(check, json_pack("{s:s, s:{s:b}}", "type", "done", "reply", "ok", 1));
    expect_outcome(first, "ok");
    frames_say(fake_next_ephemeral(h.session), json_pack("{s:s, s:{s:b}}", "type", "done", "reply", "ok", 1));
    expect_outcome(second, "ok");
    assert_int_equal(fake_most(h.session, CELL_EPHEMERAL), 1);
}

/* How many denied calls the reply to this request reports. */
static void expect_denied(const char *id, size_t n) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.parent, "msg_id", id);
    assert_int_equal(json_array_size(json_object_get(report_of(&reply), "denied")), n);
    message_fini(&reply);
}

static void test_beside_another_a_denied_call_is_the_callers(void **state) {
    char own[37], first[37], second[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("1", &fresh_a, first);
    begin_fresh("2", &fresh_b, second);
    fake_deny(h.session, fresh_b.cell);
    take_a_turn();
    end(NULL, "ok");
    expect_denied(own, 0);
    end(&fresh_a, "ok");
    expect_denied(first, 0);
    end(&fresh_b, "ok");
    expect_denied(second, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MANY(test_beside_each_other_runs_ask_one_after_the_other),
        TWO(test_beside_a_run_that_dies_while_it_asks_the_other_asks),
        TWO(test_beside_a_run_that_is_interrupted_while_it_asks_the_other_asks),
        TWO(test_beside_a_run_whose_client_is_not_there_the_other_asks),
        TWO(test_beside_another_an_answer_to_its_question_is_not_taken),
        TWO(test_beside_another_question_the_time_of_one_does_not_count),
        TWO(test_beside_the_session_its_limits_are_not_changed),
        TWO(test_beside_a_fresh_run_the_sessions_limits_are_its_own),
        TWO(test_beside_the_session_its_comms_are_not_changed),
        TWO(test_beside_another_run_of_its_task_a_run_counts_for_the_budget),
        TWO(test_beside_another_run_of_its_task_its_time_counts),
        TWO(test_beside_another_whose_end_takes_long_the_time_limit_holds),
        TWO(test_beside_another_whose_cell_takes_long_to_make_the_time_limit_holds),
        TWO(test_beside_cell_that_is_done_while_another_ends_is_answered),
        TWO(test_beside_interrupt_while_a_cell_is_made_reaches_it),
        TWO(test_beside_each_other_runs_are_checked_one_after_the_other),
        MANY(test_beside_another_a_denied_call_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
