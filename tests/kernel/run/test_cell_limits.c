/* Limits that a cell, its session or its client asks for, through a whole kernel. */
#include "tests/kernel/cells.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void one_display(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_DISPLAYS] = 1;
    kernel->runner.limits.values[LIMIT_OUTPUT] = 4;
}

static int start_one_display(void **state) {
    (void)state;
    harness_start_warm(&h, one_display);
    return 0;
}

static void test_execute_over_its_output_limits_goes_on(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("shows much", id);
    for (int seq = 1; seq <= 3; seq++) {
        harness_say(&h, publish(seq, "display_data"));
        expect_ack(seq);
    }
    write_all(fake_stdout_fd(h.session), "abcdefg");
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input display_data display_data stream:stdout:abcd stream:stderr:petri: the cell "
                     "has written 4 bytes, its limit of output; what comes now is counted and dropped.\n idle");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *metrics = json_object_get(report_of(&reply), "metrics");
    expect_text(report_of(&reply), "outcome", "ok");
    assert_int_equal(json_integer_value(json_object_get(metrics, "stdout_bytes")), 7);
    /* The two displays over the number, the first of which a note stands for, and "efg". */
    size_t display_bytes = strlen("{\"data\":{},\"metadata\":{}}{}");
    assert_int_equal(json_integer_value(json_object_get(metrics, "dropped_bytes")), 2 * display_bytes + 3);
    message_fini(&reply);
}

static void test_execute_report_has_the_sha256_of_the_code(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("1+1", id);
    harness_done(&h, "ok");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(report_of(&reply), "code_sha256", "4a1b21d876ae00c8ed5c4d1cde09c61f8a61b50fe370a801b10c339831f370ab");
    message_fini(&reply);
}

static int64_t limit_of_next_cell(const char *code, const char *status) {
    struct message reply;
    char id[37];
    begin_cell(code, id);
    harness_done(&h, status);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    int64_t ms = json_integer_value(json_object_get(json_object_get(report_of(&reply), "limits"), "timeout_ms"));
    message_fini(&reply);
    return ms;
}

static void test_limits_of_the_session_hold_for_the_next_cells(void **state) {
    (void)state;
    assert_int_equal(limit_of_next_cell("%limits timeout=7s", "ok"), 7000);
    assert_int_equal(limit_of_next_cell("%%limits timeout=3s", "ok"), 3000);
    assert_int_equal(limit_of_next_cell("1", "ok"), 7000);
    assert_int_equal(limit_of_next_cell("%limits timeout=8s\n1/0", "ZeroDivisionError"), 8000);
    assert_int_equal(limit_of_next_cell("1", "ok"), 8000);
}

static void test_limits_of_the_session_are_rolled_back_with_their_cell(void **state) {
    char id[37];
    (void)state;
    begin_cell("%limits timeout=7s", id);
    fake_cell_dies(h.session, &(struct cell_end){.exited = true});
    json_decref(harness_reply(&h, CHANNEL_SHELL, "execute_reply", id));
    assert_int_equal(limit_of_next_cell("1", "ok"), 120000);
}

static void test_limits_of_the_request_override_those_of_the_code(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "%%limits timeout=9s\n1"),
                      json_pack("{s:{s:{s:s}}}", "petri", "limits", "timeout", "4s"), id);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *limits = json_object_get(report_of(&reply), "limits");
    assert_int_equal(json_integer_value(json_object_get(limits, "timeout_ms")), 4000);
    message_fini(&reply);
}

static const char *plain_of(const struct message *display) {
    return json_string_value(json_object_get(json_object_get(display->content, "data"), "text/plain"));
}

static void test_limits_line_without_values_shows_the_table(void **state) {
    char id[37];
    struct message table;
    (void)state;
    begin_cell("# a comment\n\n%limits", id);
    harness_wait_published(&h, "display_data", id, &table);
    assert_non_null(strstr(plain_of(&table), "\ncpu             240 s  "));
    assert_non_null(strstr(plain_of(&table), " 3.0 MiB ")); /* what the session has written: fake_sandbox.c */
    message_fini(&table);
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

static void test_limits_of_the_session_are_told(void **state) {
    char id[37];
    (void)state;
    begin_cell("%limits timeout=3 memory=1G", id);
    harness_done(&h, "ok");
    expect_heard(
        id, "busy execute_input stream:stdout:From this cell on the session has timeout 3 s, memory 1 GiB.\n idle");
    begin_cell("%limits timeout=3", id);
    harness_done(&h, "ok");
    expect_heard(id,
                 "busy execute_input stream:stdout:From this cell on the session has the limits that it had.\n idle");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_execute_over_its_output_limits_goes_on, start_one_display, cells_stop),
        WARM(test_execute_report_has_the_sha256_of_the_code),
        WARM(test_limits_of_the_session_hold_for_the_next_cells),
        WARM(test_limits_of_the_session_are_rolled_back_with_their_cell),
        WARM(test_limits_of_the_request_override_those_of_the_code),
        WARM(test_limits_line_without_values_shows_the_table),
        WARM(test_limits_of_the_session_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
