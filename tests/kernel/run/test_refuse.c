/* What the worker answers where a cell imports what the configuration refuses, and what the kernel believes of it. */
#include "kernel/base/clock.h"
#include "tests/kernel/cells.h"
#include "tests/kernel/fake_clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define REFUSES ", which the configuration refuses (\"refuse\", \"imports\")" STAYS

static void refuse_socket(struct kernel *kernel) {
    kernel->config.refuse.imports = json_pack("[s, s]", "socket", "urllib.request");
}

static int start_refusing(void **state) {
    (void)state;
    harness_start_warm(&h, refuse_socket);
    fake_clock_stop();
    return 0;
}

static int stop_refusing(void **state) {
    int r = cells_stop(state);
    json_decref(h.kernel.config.refuse.imports);
    return r;
}

/* The worker says that it has not run the code; reply is stolen. */
static void say_done(json_t *reply) {
    harness_say(&h, json_pack("{s:s, s:o}", "type", "done", "reply", reply));
}

static json_t *refusal(const char *module, int line) {
    return json_pack("{s:s, s:s, s:i}", "status", "refused", "module", module, "line", line);
}

static void test_refused_import_is_rolled_back_and_named_with_its_line(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    harness_execute(&h, "x = 1\nfrom urllib.request import urlopen", id);
    json_t *frame = harness_next_cell(&h);
    json_auto_t *expected = json_pack("[s, s]", "socket", "urllib.request");
    assert_true(json_equal(json_object_get(frame, "refuse"), expected));
    json_decref(frame);
    say_done(refusal("urllib.request", 2));
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "status", "error");
    expect_text(reply.content, "ename", "CellRefused");
    expect_text(reply.content, "evalue", "The cell was not run: line 2 imports urllib.request" REFUSES);
    assert_int_equal(json_integer_value(json_object_get(reply.content, "execution_count")), 1);
    const json_t *report = report_of(&reply);
    expect_text(report, "outcome", "refused");
    assert_true(json_is_true(json_object_get(report, "rolled_back")));
    const json_t *error = json_object_get(report, "error");
    assert_int_equal(json_integer_value(json_object_get(error, "line")), 2);
    const json_t *lines = json_object_get(error, "traceback");
    assert_string_equal(json_string_value(json_array_get(lines, 1)), "Cell In[1], line 2");
    assert_string_equal(json_string_value(json_array_get(lines, 2)), "    from urllib.request import urlopen");
    message_fini(&reply);
    expect_heard(id, "busy execute_input error:CellRefused idle");
    expect_next_cell_runs();
    assert_int_equal(strncmp(fake_story(h.session), "create start discard create start", 33), 0);
}

/* What the worker gets begins with the second line there. */
static void test_refused_import_after_a_limits_line_has_the_line_of_the_request(void **state) {
    char id[37];
    (void)state;
    harness_execute(&h, "%%limits timeout=9s\n%%time\nimport socket", id);
    json_t *frame = harness_next_cell(&h);
    expect_text(frame, "code", "%%time\nimport socket");
    json_decref(frame);
    say_done(refusal("socket", 2));
    expect_failure(id, "busy execute_input error:CellRefused idle", "CellRefused",
                   "The cell was not run: line 3 imports socket" REFUSES);
}

/* A cell whose worker says this has ended as one that has said anything wrong. */
static void expect_no_refusal(json_t *reply) {
    struct message answer;
    char id[37];
    begin_cell("import socket\n1", id);
    say_done(reply);
    harness_receive(&h, CHANNEL_SHELL, &answer);
    expect_text(answer.content, "status", "error");
    assert_null(json_object_get(answer.content, "evalue"));
    expect_text(report_of(&answer), "outcome", "error");
    assert_true(json_is_false(json_object_get(report_of(&answer), "rolled_back")));
    message_fini(&answer);
}

static void test_refusal_that_is_not_valid_is_an_ordinary_reply(void **state) {
    char name[300] = "socket.";
    (void)state;
    memset(name + strlen(name), 'a', 260);
    expect_no_refusal(refusal("os", 1));
    expect_no_refusal(refusal("socketserver", 1));
    expect_no_refusal(refusal("urllib", 1));
    expect_no_refusal(refusal("", 1));
    expect_no_refusal(refusal("socket.\x1b[2J", 1));
    expect_no_refusal(refusal(name, 1));
    expect_no_refusal(refusal("socket", 0));
    expect_no_refusal(refusal("socket", 3));
    expect_no_refusal(refusal("socket", -1));
    expect_no_refusal(json_pack("{s:s, s:s%, s:i}", "status", "refused", "module", "socket\0x", (size_t)8, "line", 1));
    expect_no_refusal(json_pack("{s:s, s:s, s:I}", "status", "refused", "module", "socket", "line", INT64_MAX));
    expect_no_refusal(json_pack("{s:s, s:s, s:s}", "status", "refused", "module", "socket", "line", "1"));
    expect_no_refusal(json_pack("{s:s, s:[s], s:i}", "status", "refused", "module", "socket", "line", 1));
    expect_no_refusal(json_pack("{s:s, s:i}", "status", "refused", "line", 1));
    expect_no_refusal(json_pack("{s:s, s:s, s:i}", "status", "error", "module", "socket", "line", 1));
}

static void test_refusal_without_refused_imports_is_an_ordinary_reply(void **state) {
    char id[37];
    (void)state;
    harness_execute(&h, "1", id);
    json_t *frame = harness_next_cell(&h);
    assert_null(json_object_get(frame, "refuse"));
    json_decref(frame);
    harness_done(&h, "ok");
    expect_status(id, "ok");
    expect_no_refusal(refusal("socket", 1));
}

static void send_of_task(char id[37]) {
    json_t *metadata = json_pack("{s:{s:s, s:{s:i}}}", "petri", "task", "T", "limits", "runs", 1);
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "import socket"), metadata, id);
}

/* Only the worker says that nothing ran: an answer that took long is a run of the task. */
static void test_refused_import_that_took_long_counts_as_a_run_of_its_task(void **state) {
    char id[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.usage = {.cpu_us = 1000}});
    for (int i = 0; i < 3; i++) {
        send_of_task(id);
        json_decref(harness_next_cell(&h));
        if (i == 2)
            fake_clock_put_forward(6 * CLOCK_S);
        say_done(refusal("socket", 1));
        expect_failure(id, "busy execute_input error:CellRefused idle", "CellRefused",
                       "The cell was not run: line 1 imports socket" REFUSES);
    }
    send_of_task(id);
    expect_failure(id, "busy execute_input error:BudgetExceeded idle", "BudgetExceeded",
                   "The cell was not run: task T has used 1 runs and its limit runs is 1" STAYS);
}

#define REFUSING(test) cmocka_unit_test_setup_teardown(test, start_refusing, stop_refusing)

int main(void) {
    const struct CMUnitTest tests[] = {
        REFUSING(test_refused_import_is_rolled_back_and_named_with_its_line),
        REFUSING(test_refused_import_after_a_limits_line_has_the_line_of_the_request),
        REFUSING(test_refusal_that_is_not_valid_is_an_ordinary_reply),
        WARM(test_refusal_without_refused_imports_is_an_ordinary_reply),
        REFUSING(test_refused_import_that_took_long_counts_as_a_run_of_its_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
