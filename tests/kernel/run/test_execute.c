/* Cells through a whole kernel, with a client and a worker played by the test. */
#include "tests/kernel/cells.h"

#include "kernel/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void short_limits(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_TIMEOUT] = 20;
    kernel->runner.limits.values[LIMIT_CODE] = 100;
}

static int start_short(void **state) {
    (void)state;
    harness_start_warm(&h, short_limits);
    return 0;
}

static void expect_story_begins(const char *expected) {
    assert_int_equal(strncmp(fake_story(h.session), expected, strlen(expected)), 0);
}

static void test_execute_ok_freezes_before_reply_and_commits(void **state) {
    char id[37];
    (void)state;
    harness_execute(&h, "1+1", id);
    json_t *request = harness_next_cell(&h);
    expect_text(request, "type", "execute");
    expect_text(request, "code", "1+1");
    assert_true(json_is_true(json_object_get(request, "store_history")));
    assert_int_equal(json_integer_value(json_object_get(request, "execution_count")), 1);
    json_decref(request);
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input idle");
    expect_status(id, "ok");
    expect_next_cell_runs();
    expect_story_begins("create start freeze commit create start freeze");
}

static void test_execute_reply_carries_the_report(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("1", id);
    write_all(fake_stdout_fd(h.session), "four");
    harness_done(&h, "ok");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    assert_non_null(json_object_get(reply.metadata, "started"));
    const json_t *report = report_of(&reply);
    expect_text(report, "outcome", "ok");
    expect_text(report, "profile", "notebook");
    assert_true(json_is_false(json_object_get(report, "rolled_back")));
    assert_true(json_is_null(json_object_get(report, "error")));
    static const char *const kinds[] = {"user", "pid", "mount", "network", "ipc", "uts", "cgroup", "seccomp", "memory"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        assert_true(json_string_length(json_object_get(json_object_get(report, "isolation"), kinds[i])) > 0);
    const json_t *metrics = json_object_get(report, "metrics");
    assert_int_equal(json_integer_value(json_object_get(metrics, "stdout_bytes")), 4);
    message_fini(&reply);
}

static void test_execute_with_a_file_over_the_disk_limit_is_refused(void **state) {
    char id[37];
    (void)state;
    json_t *metadata = json_pack("{s:{s:[{s:s, s:s}]}}", "petri", "files", "path", "full", "text", "x");
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "1"), metadata, id);
    expect_failure(id, "busy execute_input error:CellRefused idle", "CellRefused",
                   "The cell was not run: the file \"full\" can't be put there: the session's files have reached their"
                   " limit (disk, files)" STAYS);
    expect_next_cell_runs();
    expect_story_begins("create put discard create start");
}

/* What is told of the key ends inside a character: there is an answer all the same. */
static void test_execute_with_a_long_unknown_metadata_key_is_refused(void **state) {
    static const char key[] = "012345678901234567890123456789012345678\xc3\xa9";
    char id[37];
    (void)state;
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "1"),
                      json_pack("{s:{s:i}}", "petri", key, 1), id);
    expect_failure(
        id, "busy execute_input error:CellRefused idle", "CellRefused",
        "The cell was not run: metadata.petri has no \"012345678901234567890123456789012345678\xef\xbf\xbd\";"
        " there are \"cache\", \"checkpoint\", \"commit\", \"env\", \"expect\", \"files\", \"fresh\", \"from\", \"inline_bytes\", \"limits\","
        " \"stdin\" and \"task\"" STAYS);
}

static void test_execute_silent_publishes_only_status(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s, s:b}", "code", "1", "silent", 1), id);
    json_t *request = harness_next_cell(&h);
    assert_true(json_is_false(json_object_get(request, "store_history")));
    assert_int_equal(json_integer_value(json_object_get(request, "execution_count")), 0);
    json_decref(request);
    write_all(fake_stdout_fd(h.session), "not heard");
    harness_say(&h, publish(1, "display_data"));
    expect_ack(1);
    harness_done(&h, "ok");
    expect_heard(id, "busy idle");
    expect_status(id, "ok");
}

static void test_execute_output_is_published_before_later_messages(void **state) {
    char id[37];
    (void)state;
    begin_cell("1", id);
    write_all(fake_stdout_fd(h.session), "a");
    harness_say(&h, publish(1, "display_data"));
    expect_ack(1);
    write_all(fake_stderr_fd(h.session), "b");
    harness_say(&h, json_pack("{s:s, s:i}", "type", "sync", "seq", 2));
    expect_ack(2);
    write_all(fake_stdout_fd(h.session), "c");
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input stream:stdout:a display_data stream:stderr:b stream:stdout:c idle");
    expect_status(id, "ok");
}

static void test_execute_publish_with_parent_belongs_to_that_cell(void **state) {
    char first[37], second[37];
    struct message message;
    (void)state;
    harness_execute(&h, "1", first);
    json_t *request = harness_next_cell(&h);
    json_t *number = json_incref(json_object_get(request, "cell"));
    json_decref(request);
    harness_done(&h, "ok");
    expect_heard(first, "busy execute_input idle");
    expect_status(first, "ok");
    begin_cell("2", second);
    json_t *late = publish(1, "display_data");
    json_object_set_new(late, "parent", number);
    harness_say(&h, late);
    harness_wait_published(&h, "display_data", first, &message);
    message_fini(&message);
    expect_ack(1);
    harness_done(&h, "ok");
    expect_heard(second, "idle");
    expect_status(second, "ok");
}

/* Runs a cell to its end, or to its death; returns its number on the worker's wire. The caller's. */
static json_t *run_one(char id[37], bool dies) {
    harness_execute(&h, "1", id);
    json_t *request = harness_next_cell(&h);
    json_t *number = json_incref(json_object_get(request, "cell"));
    json_decref(request);
    if (dies)
        fake_cell_dies(h.session, &(struct cell_end){.exited = true});
    else
        harness_done(&h, "ok");
    free(harness_heard(&h, id));
    json_decref(harness_reply(&h, CHANNEL_SHELL, "execute_reply", id));
    return number;
}

static void publish_under(int seq, const char *msg_type, json_t *content, json_t *number) {
    json_t *frame = json_pack("{s:s, s:i, s:s, s:o, s:O}", "type", "publish", "seq", seq, "msg_type", msg_type,
                              "content", content, "parent", number);
    harness_say(&h, frame);
    expect_ack(seq);
}

static void publish_each_kind_under(json_t *number) {
    publish_under(1, "clear_output", json_pack("{s:b}", "wait", 0), number);
    publish_under(2, "update_display_data", json_pack("{s:{}, s:{s:s}}", "data", "transient", "display_id", "1"),
                  number);
    publish_under(3, "display_data", json_pack("{s:{}}", "data"), number);
    publish_under(4, "execute_result", json_pack("{s:{}}", "data"), number);
    publish_under(5, "error", json_pack("{s:s, s:s, s:[]}", "ename", "E", "evalue", "", "traceback"), number);
    publish_under(6, "stream", json_pack("{s:s, s:s}", "name", "stdout", "text", "late"), number);
}

static void expect_next(const char *msg_type, const char *parent) {
    struct message message;
    harness_receive(&h, CHANNEL_IOPUB, &message);
    assert_string_equal(message.msg_type, msg_type);
    expect_text(message.parent, "msg_id", parent);
    message_fini(&message);
}

/* A task of an earlier cell shows, updates and clears what is that cell's; results and errors are the running one's. */
static void test_execute_under_an_earlier_cell_shows_and_clears_but_does_not_complete(void **state) {
    char first[37], second[37];
    struct message message;
    (void)state;
    json_t *number = run_one(first, false);
    begin_cell("2", second);
    publish_each_kind_under(number);
    harness_wait_published(&h, "execute_input", second, &message);
    message_fini(&message);
    expect_next("clear_output", first);
    expect_next("update_display_data", first);
    expect_next("display_data", first);
    expect_next("execute_result", second);
    expect_next("error", second);
    expect_next("stream", first);
    harness_done(&h, "ok");
    expect_status(second, "ok");
    json_decref(number);
}

/* The number of a cell that was rolled back, say: what it shows is the running cell's, and it clears nothing. */
static void test_execute_under_a_cell_that_is_no_part_of_the_session_clears_nothing(void **state) {
    char second[37];
    struct message message;
    (void)state;
    json_t *number = json_integer(1 << 30);
    begin_cell("2", second);
    publish_each_kind_under(number);
    harness_wait_published(&h, "execute_input", second, &message);
    message_fini(&message);
    expect_next("update_display_data", second);
    expect_next("display_data", second);
    expect_next("execute_result", second);
    expect_next("error", second);
    expect_next("stream", second);
    harness_done(&h, "ok");
    expect_status(second, "ok");
    json_decref(number);
}

/* What the running cell says under an earlier one, whose number is taken over, is its own. */
static void expect_late_text_to_be_the_cells_own(json_t *number, const char *running) {
    struct message message;
    publish_under(1, "stream", json_pack("{s:s, s:s}", "name", "stdout", "text", "late"), number);
    harness_wait_published(&h, "stream", running, &message);
    message_fini(&message);
    harness_done(&h, "ok");
    expect_status(running, "ok");
    json_decref(number);
}

static void test_execute_under_a_rolled_back_cell_publishes_nothing(void **state) {
    char first[37], second[37];
    (void)state;
    json_t *number = run_one(first, true);
    begin_cell("2", second);
    expect_late_text_to_be_the_cells_own(number, second);
}

static void test_execute_fresh_publishes_nothing_under_earlier_cells(void **state) {
    struct harness_worker worker;
    char first[37], second[37];
    (void)state;
    json_t *number = run_one(first, false);
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "2"),
                      json_pack("{s:{s:b}}", "petri", "fresh", 1), second);
    json_decref(harness_next_beside(&h, &worker));
    expect_late_text_to_be_the_cells_own(number, second);
    harness_leave(&worker);
}

static void test_execute_reply_with_dropped_fields_says_so(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("asks for an editor", id);
    harness_say(&h, json_pack("{s:s, s:{s:s, s:[{s:s, s:s}]}}", "type", "done", "reply", "status", "ok", "payload",
                              "source", "edit_magic", "filename", "x"));
    expect_heard(id, "busy execute_input stream:stderr:petri: 38 bytes of the cell's reply were dropped: over a limit "
                     "(display, code), or of a kind that profile notebook does not allow.\n idle");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    assert_int_equal(json_array_size(json_object_get(reply.content, "payload")), 0);
    const json_t *metrics = json_object_get(report_of(&reply), "metrics");
    assert_int_equal(json_integer_value(json_object_get(metrics, "dropped_bytes")), 38);
    message_fini(&reply);
}

static void test_execute_error_aborts_only_queued_executes(void **state) {
    char failing[37], queued[37], info[37];
    (void)state;
    begin_cell("fails", failing);
    harness_execute(&h, "is not run", queued);
    harness_send(&h, CHANNEL_SHELL, "kernel_info_request", json_object(), info);
    json_decref(harness_reply(&h, CHANNEL_SHELL, "kernel_info_reply", info));
    harness_done(&h, "ValueError");
    expect_status(failing, "error");
    expect_status(queued, "aborted");
    expect_heard(queued, "busy idle");
    expect_next_cell_runs();
}

static void test_execute_error_without_stop_on_error_goes_on(void **state) {
    char failing[37], queued[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s, s:b}", "code", "fails", "stop_on_error", 0),
                 failing);
    json_decref(harness_next_cell(&h));
    harness_execute(&h, "is run", queued);
    harness_done(&h, "ValueError");
    expect_status(failing, "error");
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_status(queued, "ok");
}

static void test_execute_death_of_the_worker_is_a_crash_with_its_output(void **state) {
    char id[37];
    (void)state;
    begin_cell("dies", id);
    write_all(fake_stdout_fd(h.session), "last words");
    fake_cell_dies(h.session, &(struct cell_end){.signaled = true, .signal = SIGSEGV});
    expect_failure(id, "busy execute_input stream:stdout:last words error:CellCrashed idle", "CellCrashed",
                   "The cell's process was killed by signal 11 (Segmentation fault)" STAYS);
    expect_next_cell_runs();
    assert_non_null(strstr(fake_story(h.session), "start discard create start freeze"));
}

static void test_execute_with_a_failed_freeze_is_a_crash(void **state) {
    char id[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.freeze = -EUCLEAN, .detail = "the signal stack"});
    begin_cell("harms", id);
    harness_done(&h, "ok");
    expect_failure(id, "busy execute_input error:CellCrashed idle", "CellCrashed",
                   "The cell's process no longer has what petri needs (the signal stack)" STAYS);
    fake_plan(h.session, &(struct fake_plan){.freeze = -EIO, .detail = "the threads"});
    begin_cell("harms", id);
    harness_done(&h, "ok");
    expect_failure(id, "busy execute_input error:CellCrashed idle", "CellCrashed",
                   "The cell's process could not be kept: making it failed (the threads). Mend it" STAYS);
    fake_plan(h.session, &(struct fake_plan){0});
    expect_next_cell_runs();
}

static void test_execute_broken_wire_is_a_crash(void **state) {
    char id[37];
    (void)state;
    begin_cell("lies", id);
    harness_say(&h, json_pack("{s:s}", "type", "ready"));
    expect_failure(id, "busy execute_input error:CellCrashed idle", "CellCrashed",
                   "The cell's process broke petri's control channel (a frame of this type may not come now)" STAYS);
    expect_next_cell_runs();
}

static void test_execute_denied_system_calls_are_in_the_report(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("connects", id);
    fake_deny(h.session, NULL);
    fake_deny(h.session, NULL);
    take_a_turn();
    harness_done(&h, "ok");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *denied = json_object_get(report_of(&reply), "denied");
    assert_int_equal(json_array_size(denied), 1);
    expect_text(json_array_get(denied, 0), "syscall", "connect");
    expect_text(json_array_get(denied, 0), "detail", "192.0.2.1:80");
    assert_int_equal(json_integer_value(json_object_get(json_array_get(denied, 0), "count")), 2);
    message_fini(&reply);
}

static void test_execute_code_over_the_limit_is_refused(void **state) {
    char id[37], code[102];
    (void)state;
    memset(code, '#', sizeof code - 1);
    code[sizeof code - 1] = '\0';
    harness_execute(&h, code, id);
    expect_failure(id, "busy execute_input error:CellRefused idle", "CellRefused",
                   "The cell was not run: its source is 101 bytes, over the limit of 100 bytes" STAYS);
}

static void test_execute_with_its_own_limits_has_them(void **state) {
    char id[37];
    (void)state;
    harness_execute(&h, "%%limits timeout=30ms\nwhile True: pass", id);
    json_t *request = harness_next_cell(&h);
    expect_text(request, "code", "# %%limits timeout=30ms\nwhile True: pass");
    json_decref(request);
    expect_failure(id, "busy execute_input error:CellTimeout idle", "CellTimeout",
                   "The cell ran longer than its time limit of 30 ms and was ended" STAYS);
}

static void test_execute_limit_over_the_ceiling_is_refused(void **state) {
    char id[37];
    (void)state;
    harness_execute(&h, "%%limits timeout=2h\n1", id);
    expect_failure(id, "busy execute_input error:CellRefused idle", "CellRefused",
                   "The cell was not run: timeout 7200 s is over the ceiling of 3600 s in profile notebook" STAYS);
    expect_next_cell_runs();
}

static void test_execute_without_a_sandbox_is_not_run(void **state) {
    char id[37];
    (void)state;
    harness_start(&h, NULL);
    fake_plan(h.session, &(struct fake_plan){.create = -EPERM, .detail = "EPERM"});
    harness_say(&h, json_pack("{s:s}", "type", "ready"));
    harness_execute(&h, "1", id);
    expect_failure(id, "busy execute_input error:SandboxError idle", "SandboxError",
                   "There is no sandbox for the cell, so it was not run: making it failed (EPERM). Mend it" STAYS);
    fake_plan(h.session, &(struct fake_plan){0});
    expect_next_cell_runs();
    harness_stop(&h);
}

static void test_execute_in_a_sandbox_killed_before_it_began_says_so_and_to_run_it_again(void **state) {
    char id[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.start = -ESRCH});
    harness_execute(&h, "1", id);
    expect_failure(
        id, "busy execute_input error:SandboxError idle", "SandboxError",
        "There is no sandbox for the cell, so it was not run: its sandbox was killed before it began, by hand "
        "or by Linux for want of memory" STAYS);
    fake_plan(h.session, &(struct fake_plan){0});
    expect_next_cell_runs();
}

static void test_execute_after_a_failed_start_says_why(void **state) {
    char id[37];
    (void)state;
    harness_start(&h, NULL);
    harness_execute(&h, "1", id);
    write_all(fake_stderr_fd(h.session), "Traceback:\nno module named x\n");
    fake_worker_dies(h.session);
    expect_failure(id, "busy execute_input error:SandboxError idle", "SandboxError",
                   "There is no sandbox for the cell, so it was not run: the interpreter ended while it was starting: "
                   "Traceback: no module named x" STAYS);
    harness_stop(&h);
}

static void test_execute_leftover_processes_are_noted_on_stderr(void **state) {
    char id[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.end = {.leftovers = 2}});
    begin_cell("leaves", id);
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input stream:stderr:petri: ended 2 processes that this cell left running.\n idle");
    expect_status(id, "ok");
}

static void test_execute_count_grows_only_with_cells_in_the_history(void **state) {
    static const int expected[] = {1, 1, 2};
    (void)state;
    for (int i = 0; i < 3; i++) {
        char id[37];
        harness_send(&h, CHANNEL_SHELL, "execute_request",
                     json_pack("{s:s, s:b}", "code", "1", "store_history", i != 1), id);
        json_decref(harness_next_cell(&h));
        harness_done(&h, "ok");
        json_t *content = harness_reply(&h, CHANNEL_SHELL, "execute_reply", id);
        assert_int_equal(json_integer_value(json_object_get(content, "execution_count")), expected[i]);
        json_decref(content);
    }
}

#define SHORT(test) cmocka_unit_test_setup_teardown(test, start_short, cells_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        WARM(test_execute_ok_freezes_before_reply_and_commits),
        WARM(test_execute_reply_carries_the_report),
        WARM(test_execute_silent_publishes_only_status),
        WARM(test_execute_with_a_file_over_the_disk_limit_is_refused),
        WARM(test_execute_with_a_long_unknown_metadata_key_is_refused),
        WARM(test_execute_output_is_published_before_later_messages),
        WARM(test_execute_publish_with_parent_belongs_to_that_cell),
        WARM(test_execute_under_an_earlier_cell_shows_and_clears_but_does_not_complete),
        WARM(test_execute_under_a_cell_that_is_no_part_of_the_session_clears_nothing),
        WARM(test_execute_under_a_rolled_back_cell_publishes_nothing),
        WARM(test_execute_fresh_publishes_nothing_under_earlier_cells),
        WARM(test_execute_reply_with_dropped_fields_says_so),
        WARM(test_execute_error_aborts_only_queued_executes),
        WARM(test_execute_error_without_stop_on_error_goes_on),
        WARM(test_execute_death_of_the_worker_is_a_crash_with_its_output),
        WARM(test_execute_with_a_failed_freeze_is_a_crash),
        WARM(test_execute_broken_wire_is_a_crash),
        WARM(test_execute_denied_system_calls_are_in_the_report),
        SHORT(test_execute_code_over_the_limit_is_refused),
        WARM(test_execute_with_its_own_limits_has_them),
        WARM(test_execute_limit_over_the_ceiling_is_refused),
        cmocka_unit_test(test_execute_without_a_sandbox_is_not_run),
        WARM(test_execute_in_a_sandbox_killed_before_it_began_says_so_and_to_run_it_again),
        cmocka_unit_test(test_execute_after_a_failed_start_says_why),
        WARM(test_execute_leftover_processes_are_noted_on_stderr),
        WARM(test_execute_count_grows_only_with_cells_in_the_history),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
