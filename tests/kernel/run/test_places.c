/* Fresh runs beside each other and beside the session's own, with a client and the workers played by the test. */
#include "tests/kernel/beside.h"

#include "kernel/base/clock.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect_both_heard(const char *first, const char *heard_first, const char *second,
                              const char *heard_second) {
    const char *const ids[] = {first, second};
    char *heard[2];
    harness_heard_all(&h, ids, 2, heard);
    assert_string_equal(heard[0], heard_first);
    assert_string_equal(heard[1], heard_second);
    free(heard[0]);
    free(heard[1]);
}

static void test_beside_two_fresh_runs_have_their_own_output(void **state) {
    char first[37], second[37];
    (void)state;
    begin_fresh("1", &fresh_a, first);
    begin_fresh("2", &fresh_b, second);
    write_all(fake_stdout_of(fresh_a.cell), "of a");
    write_all(fake_stdout_of(fresh_b.cell), "of b");
    end(&fresh_b, "ok");
    expect_outcome(second, "ok");
    end(&fresh_a, "ok");
    expect_outcome(first, "ok");
    expect_both_heard(first, "busy execute_input stream:stdout:of a idle", second,
                      "busy execute_input stream:stdout:of b idle");
    expect_told("beside:discard", 2);
    assert_int_equal(count_told("commit"), 0);
}

static void test_beside_the_sessions_own_a_fresh_run_is_discarded(void **state) {
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    write_all(fake_stdout_fd(h.session), "of the session");
    write_all(fake_stdout_of(fresh_a.cell), "of a");
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
    expect_told("beside:discard", 1);
    end(NULL, "ok");
    expect_outcome(own, "ok");
    expect_both_heard(own, "busy execute_input stream:stdout:of the session idle", fresh,
                      "busy execute_input stream:stdout:of a idle");
    expect_told("commit", 1);
    assert_int_equal(count_told("discard"), 0);
}

/* The cell made ahead is the session's: its own run has it, and the next one is made while the fresh run goes on. */
static void test_beside_a_fresh_run_the_session_goes_on(void **state) {
    char own[37], fresh[37];
    (void)state;
    expect_told("create", 1);
    begin_fresh("fresh", &fresh_a, fresh);
    for (int i = 0; i < 3; i++) {
        begin_cell("own", own);
        end(NULL, "ok");
        expect_outcome(own, "ok");
        expect_told("create", i + 2);
    }
    assert_int_equal(count_told("beside:create"), 1);
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
    assert_int_equal(count_told("commit"), 3);
}

/* Front ends show the last status, whichever request it is for. */
static void test_beside_a_run_that_goes_on_the_kernel_is_busy(void **state) {
    char own[37], fresh[37];
    struct message status;
    bool idle = false;
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    end(NULL, "ok");
    expect_outcome(own, "ok");
    while (!idle) {
        harness_wait_published(&h, "status", own, &status);
        idle = strcmp(json_string_value(json_object_get(status.content, "execution_state")), "idle") == 0;
        message_fini(&status);
    }
    harness_receive(&h, CHANNEL_IOPUB, &status);
    expect_text(status.parent, "msg_id", fresh);
    expect_text(status.content, "execution_state", "busy");
    message_fini(&status);
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
}

static void test_beside_with_one_processor_nothing_runs(void **state) {
    char own[37], fresh[37], later[37];
    (void)state;
    begin_cell("own", own);
    send_fresh("fresh", fresh);
    harness_execute(&h, "later", later);
    expect_told("beside:create", 0);
    end(NULL, "ok");
    expect_outcome(own, "ok");
    expect_begun(&fresh_a);
    expect_told("start", 1);
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
    expect_own_begun();
    end(NULL, "ok");
    expect_outcome(later, "ok");
    assert_int_equal(fake_most(h.session, CELL_BESIDE), 1);
}

static void test_beside_a_fresh_run_overtakes_what_waits_for_the_session(void **state) {
    char own[37], waits[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    harness_execute(&h, "waits", waits);
    begin_fresh("fresh", &fresh_a, fresh);
    expect_told("start", 1);
    end(NULL, "ok");
    expect_outcome(own, "ok");
    expect_own_begun(); /* also as the fresh run goes on */
    end(NULL, "ok");
    expect_outcome(waits, "ok");
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
}

static void test_beside_full_places_the_first_that_came_begins(void **state) {
    char first[37], second[37], own[37], last[37];
    struct harness_worker c;
    (void)state;
    begin_fresh("1", &fresh_a, first);
    begin_fresh("2", &fresh_b, second);
    harness_execute(&h, "own", own);
    send_fresh("last", last);
    expect_told("start", 0);
    end(&fresh_a, "ok");
    expect_outcome(first, "ok");
    expect_own_begun();
    expect_told("beside:start", 2);
    end(&fresh_b, "ok");
    expect_outcome(second, "ok");
    expect_begun(&c);
    end(NULL, "ok");
    expect_outcome(own, "ok");
    end(&c, "ok");
    expect_outcome(last, "ok");
    harness_leave(&c);
}

static void test_beside_a_lower_limit_the_session_does_not_wait(void **state) {
    char own[37], waits[37], fresh[37];
    (void)state;
    begin_cell("%limits cpus=1\n1", own);
    harness_execute(&h, "waits", waits);
    begin_fresh("came later", &fresh_a, fresh);
    end(NULL, "ok");
    expect_outcome(own, "ok");
    expect_own_begun();
    end(NULL, "ok");
    expect_outcome(waits, "ok");
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
}

static void test_beside_the_most_that_the_sandbox_has_a_fresh_run_waits(void **state) {
    char first[37], second[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.beside_max = 1});
    begin_fresh("1", &fresh_a, first);
    send_fresh("2", second);
    expect_next_cell_runs();
    expect_told("beside:start", 1);
    end(&fresh_a, "ok");
    expect_outcome(first, "ok");
    expect_begun(&fresh_b);
    end(&fresh_b, "ok");
    expect_outcome(second, "ok");
}

static void test_beside_cells_that_are_ending_a_fresh_run_waits(void **state) {
    char own[37], fresh[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.places_ending = INT_MAX});
    send_fresh("waits", fresh);
    take_a_turn();
    begin_cell("own", own);
    expect_told("beside:start", 0);
    fake_plan(h.session, &(struct fake_plan){0});
    expect_begun(&fresh_a);
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
    end(NULL, "ok");
    expect_outcome(own, "ok");
}

/* The look that finds them gone is the last: nothing else happens then. A turn for something else may come before. */
static void test_beside_cells_that_have_just_ended_a_fresh_run_begins(void **state) {
    char fresh[37];
    (void)state;
    for (int i = 0; i < 10; i++) {
        fake_plan(h.session, &(struct fake_plan){.places_ending = 1});
        send_fresh("waits", fresh);
        expect_begun(&fresh_a);
        end(&fresh_a, "ok");
        expect_outcome(fresh, "ok");
        harness_leave(&fresh_a);
    }
}

/* As many as may be, each with all that it can wait for: the loop has room for them. */
static void test_beside_each_other_sixteen_fresh_runs_and_no_more(void **state) {
    struct harness_worker workers[PLACES_BESIDE];
    char ids[PLACES_BESIDE + 1][37], own[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.beside_max = 100});
    for (size_t i = 0; i < PLACES_BESIDE; i++)
        begin_fresh("1", &workers[i], ids[i]);
    begin_cell("own", own);
    send_fresh("waits", ids[PLACES_BESIDE]);
    expect_told("beside:start", PLACES_BESIDE);
    put_forward(h.kernel.runner.limits.values[LIMIT_TIMEOUT] * CLOCK_MS); /* each is asked for its stack */
    for (size_t i = 0; i < PLACES_BESIDE; i++)
        harness_leave(&workers[i]);
    expect_begun(&fresh_a);
    assert_int_equal(fake_most(h.session, CELL_BESIDE), PLACES_BESIDE);
}

static void test_beside_one_that_dies_the_others_go_on(void **state) {
    static const struct cell_end killed = {.signaled = true, .signal = SIGSEGV};
    char own[37], first[37], second[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("1", &fresh_a, first);
    begin_fresh("2", &fresh_b, second);
    write_all(fake_stdout_of(fresh_a.cell), "last words");
    fake_dies(fresh_a.cell, &killed);
    expect_failure(first, "busy execute_input stream:stdout:last words error:CellCrashed idle", "CellCrashed",
                   "The cell's process was killed by signal 11 (Segmentation fault)" STAYS);
    end(&fresh_b, "ok");
    expect_outcome(second, "ok");
    end(NULL, "ok");
    expect_outcome(own, "ok");
    expect_told("beside:discard", 2);
    assert_int_equal(count_told("commit"), 1);
}

static void test_beside_one_over_its_time_the_other_goes_on(void **state) {
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    send_with("hangs", json_pack("{s:b, s:{s:s}}", "fresh", 1, "limits", "timeout", "20ms"), fresh);
    expect_outcome(fresh, "timeout");
    end(NULL, "ok");
    expect_outcome(own, "ok");
    expect_told("commit", 1);
}

static void test_beside_a_failed_cell_fresh_requests_are_not_aborted(void **state) {
    char own[37], waits[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    send_fresh("fresh", fresh);
    harness_execute(&h, "waits", waits);
    take_a_turn();
    end(NULL, "ValueError");
    expect_outcome(own, "error");
    expect_status(waits, "aborted");
    expect_begun(&fresh_a);
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
}

static void test_beside_a_failed_fresh_run_nothing_is_aborted(void **state) {
    char own[37], fresh[37], other[37];
    (void)state;
    begin_fresh("fails", &fresh_a, fresh);
    harness_execute(&h, "own", own);
    send_fresh("other", other);
    take_a_turn();
    end(&fresh_a, "ValueError");
    expect_outcome(fresh, "error");
    expect_own_begun();
    end(NULL, "ok");
    expect_outcome(own, "ok");
    expect_begun(&fresh_b);
    end(&fresh_b, "ok");
    expect_outcome(other, "ok");
}

static void test_beside_each_other_all_runs_are_interrupted(void **state) {
    char own[37], fresh[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    interrupt(NULL, "ok");
    assert_int_equal(fake_next_signal_of(fresh_a.cell), SIGINT);
    assert_int_equal(fake_next_signal(h.session), SIGINT);
    end(&fresh_a, "KeyboardInterrupt");
    expect_outcome(fresh, "interrupted");
    end(NULL, "KeyboardInterrupt");
    expect_outcome(own, "interrupted");
}

static void test_beside_another_one_run_is_interrupted_alone(void **state) {
    char own[37], first[37], second[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("1", &fresh_a, first);
    begin_fresh("2", &fresh_b, second);
    interrupt(json_pack("{s:s}", "request", first), "ok");
    assert_int_equal(fake_next_signal_of(fresh_a.cell), SIGINT);
    end(&fresh_a, "KeyboardInterrupt");
    expect_outcome(first, "interrupted");
    end(&fresh_b, "KeyboardInterrupt"); /* as its code may say itself */
    expect_outcome(second, "error");
    interrupt(json_pack("{s:s}", "request", own), "ok");
    end(NULL, "KeyboardInterrupt");
    expect_outcome(own, "interrupted");
}

static void test_beside_interrupts_that_name_no_run_nothing_happens(void **state) {
    char own[37], waits[37];
    (void)state;
    begin_cell("own", own);
    harness_execute(&h, "waits", waits);
    interrupt(json_pack("{s:s}", "request", "nobody"), "ok");
    interrupt(json_pack("{s:i}", "request", 1), "error");
    interrupt(json_pack("{s:n}", "request"), "error");
    interrupt(json_pack("{s:s}", "reqest", own), "error");
    interrupt(json_string(own), "error");
    end(NULL, "KeyboardInterrupt");
    expect_outcome(own, "error");
}

static void test_beside_runs_a_request_that_waits_is_aborted_where_an_interrupt_names_it(void **state) {
    char own[37], fresh[37], waits[37], other[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("fresh", &fresh_a, fresh);
    harness_execute(&h, "waits", waits);
    send_fresh("other", other);
    take_a_turn();
    interrupt(json_pack("{s:s}", "request", waits), "ok");
    expect_status(waits, "aborted");
    interrupt(json_pack("{s:s}", "request", other), "ok");
    expect_status(other, "aborted");
    end(NULL, "ok");
    expect_outcome(own, "ok");
    end(&fresh_a, "ok");
    expect_outcome(fresh, "ok");
}

/* Each is ended with the kernel: what is left over is found by the sanitizers. */
static void test_beside_each_other_runs_end_with_the_kernel(void **state) {
    char own[37], first[37], waits[37];
    (void)state;
    begin_cell("own", own);
    begin_fresh("1", &fresh_a, first);
    write_all(fake_stdout_of(fresh_a.cell), "unheard");
    ask(&fresh_a, "a?");
    send_fresh("waits", waits);
    harness_execute(&h, "waits", waits);
}

enum { WAITING_BYTES = 1 << 20, LARGE_BYTES = 600 << 10 };

static void little_room(struct kernel *kernel) {
    kernel->runner.waiting.bytes_max = WAITING_BYTES;
}

static int start_with_little_room(void **state) {
    (void)state;
    harness_start_warm(&h, little_room);
    return 0;
}

/* So many bytes of anything as a request's content, with what its type needs. */
static json_t *large_content(const char *key) {
    auto_free char *text = malloc(LARGE_BYTES);
    assert_non_null(text);
    memset(text, '#', LARGE_BYTES);
    return json_pack("{s:s%, s:s, s:b}", key, text, (size_t)LARGE_BYTES, "comm_id", "c", "store_history", 0);
}

/* Each kind of request, for the session and beside it: each counts, wherever it waits. */
static const struct {
    const char *msg_type;
    const char *key; /* of the content, for what is large */
    bool fresh;
} kinds[] = {
    {"execute_request", "code", false},
    {"execute_request", "code", true},
    {"execute_request", "anything", false},
    {"comm_open", "data", false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static void send_large(int kind, char id[37]) {
    harness_send_with(&h, CHANNEL_SHELL, kinds[kind].msg_type, large_content(kinds[kind].key),
                      json_pack("{s:{s:b}}", "petri", "fresh", kinds[kind].fresh), id);
}

static void test_request_that_finds_no_room_to_wait_is_refused_at_once(void **state) {
    char own[37], waits[37], refused[37];
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        (void)start_with_little_room(state);
        begin_cell("own", own);
        send_large(0, waits);
        send_large(kind, refused);
        struct message error;
        harness_wait_published(&h, "error", refused, &error);
        expect_text(error.content, "ename", "CellRefused");
        assert_non_null(
            strstr(json_string_value(json_object_get(error.content, "evalue")), "may have 1 MiB of memory"));
        message_fini(&error);
        if (strcmp(kinds[kind].msg_type, "execute_request") == 0)
            expect_status(refused, "error");
        (void)beside_stop(state);
    }
}

static void test_request_waits_that_is_alone_or_finds_room(void **state) {
    char own[37], large[37], small[37];
    (void)state;
    begin_cell("own", own);
    send_large(0, large);
    harness_execute(&h, "small", small);
    harness_done(&h, "ok");
    expect_status(own, "ok");
    free(harness_heard(&h, own));
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_status(large, "ok");
    send_large(0, large); /* what has run gives its room back */
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_status(small, "ok");
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_status(large, "ok");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TWO(test_beside_two_fresh_runs_have_their_own_output),
        TWO(test_beside_the_sessions_own_a_fresh_run_is_discarded),
        TWO(test_beside_a_fresh_run_the_session_goes_on),
        TWO(test_beside_a_run_that_goes_on_the_kernel_is_busy),
        ONE(test_beside_with_one_processor_nothing_runs),
        TWO(test_beside_a_fresh_run_overtakes_what_waits_for_the_session),
        TWO(test_beside_full_places_the_first_that_came_begins),
        TWO(test_beside_a_lower_limit_the_session_does_not_wait),
        MANY(test_beside_the_most_that_the_sandbox_has_a_fresh_run_waits),
        TWO(test_beside_cells_that_are_ending_a_fresh_run_waits),
        TWO(test_beside_cells_that_have_just_ended_a_fresh_run_begins),
        MANY(test_beside_each_other_sixteen_fresh_runs_and_no_more),
        MANY(test_beside_one_that_dies_the_others_go_on),
        TWO(test_beside_one_over_its_time_the_other_goes_on),
        ONE(test_beside_a_failed_cell_fresh_requests_are_not_aborted),
        ONE(test_beside_a_failed_fresh_run_nothing_is_aborted),
        TWO(test_beside_each_other_all_runs_are_interrupted),
        MANY(test_beside_another_one_run_is_interrupted_alone),
        TWO(test_beside_interrupts_that_name_no_run_nothing_happens),
        TWO(test_beside_runs_a_request_that_waits_is_aborted_where_an_interrupt_names_it),
        TWO(test_beside_each_other_runs_end_with_the_kernel),
        cmocka_unit_test(test_request_that_finds_no_room_to_wait_is_refused_at_once),
        cmocka_unit_test_setup_teardown(test_request_waits_that_is_alone_or_finds_room, start_with_little_room,
                                        beside_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
