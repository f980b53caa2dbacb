/* Requests that are answered beside or before any cell, through a whole kernel. */
#include "harness.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include <cmocka.h>

static struct harness h;

static int start(void **state) {
    (void)state;
    harness_start(&h, NULL);
    return 0;
}

static int start_warm(void **state) {
    (void)state;
    harness_start_warm(&h, NULL);
    return 0;
}

static int stop(void **state) {
    (void)state;
    harness_stop(&h);
    return 0;
}

static json_t *ask(enum channel channel, const char *msg_type, json_t *content, const char *reply_type) {
    char id[37];
    harness_send(&h, channel, msg_type, content, id);
    return harness_reply(&h, channel, reply_type, id);
}

static void expect_text(const json_t *json, const char *key, const char *expected) {
    const char *text = json_string_value(json_object_get(json, key));
    assert_non_null(text);
    assert_string_equal(text, expected);
}

static void test_kernel_info_before_hello_waits_for_it(void **state) {
    char id[37], comm_info[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "kernel_info_request", json_object(), id);
    /* This one is answered first: the other waits. */
    harness_send(&h, CHANNEL_SHELL, "comm_info_request", json_object(), comm_info);
    json_decref(harness_reply(&h, CHANNEL_SHELL, "comm_info_reply", comm_info));
    harness_hello(&h);
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "kernel_info_reply", id);
    expect_text(content, "status", "ok");
    expect_text(content, "implementation", "petri");
    expect_text(content, "protocol_version", "5.5");
    expect_text(content, "banner", "Hello!");
    expect_text(json_object_get(content, "language_info"), "version", "3.99");
    json_decref(content);
    char *heard = harness_heard(&h, id);
    assert_string_equal(heard, "busy idle");
    free(heard);
}

static void test_kernel_info_without_a_worker_is_answered(void **state) {
    (void)state;
    fake_worker_dies(h.session);
    json_t *content = ask(CHANNEL_CONTROL, "kernel_info_request", json_object(), "kernel_info_reply");
    expect_text(content, "status", "ok");
    expect_text(json_object_get(content, "language_info"), "name", "python");
    json_decref(content);
}

static void test_kernel_info_while_a_cell_runs_is_answered(void **state) {
    char id[37];
    (void)state;
    harness_execute(&h, "runs", id);
    json_decref(harness_next_cell(&h));
    json_decref(ask(CHANNEL_SHELL, "kernel_info_request", json_object(), "kernel_info_reply"));
    json_decref(ask(CHANNEL_CONTROL, "kernel_info_request", json_object(), "kernel_info_reply"));
    harness_done(&h, "ok");
    json_decref(harness_reply(&h, CHANNEL_SHELL, "execute_reply", id));
}

static void test_unknown_request_is_busy_and_idle(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "no_such_request", json_object(), id);
    char *heard = harness_heard(&h, id);
    assert_string_equal(heard, "busy idle");
    free(heard);
}

static void test_request_on_the_wrong_channel_is_unknown(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_CONTROL, "execute_request", json_pack("{s:s}", "code", "1"), id);
    char *heard = harness_heard(&h, id);
    assert_string_equal(heard, "busy idle");
    free(heard);
}

static void test_connect_names_the_ports(void **state) {
    (void)state;
    json_t *content = ask(CHANNEL_SHELL, "connect_request", json_object(), "connect_reply");
    assert_int_equal(json_integer_value(json_object_get(content, "shell_port")), 1000 + CHANNEL_SHELL);
    assert_int_equal(json_integer_value(json_object_get(content, "hb_port")), 1000 + CHANNEL_HB);
    json_decref(content);
}

static void test_heartbeat_gives_bytes_back(void **state) {
    char back[8] = "";
    (void)state;
    assert_int_equal(zmq_send(h.sockets[CHANNEL_HB], "\0ping\xff", 6, 0), 6);
    assert_int_equal(zmq_recv(h.sockets[CHANNEL_HB], back, sizeof back, 0), 6);
    assert_memory_equal(back, "\0ping\xff", 6);
}

static void test_is_complete_runs_beside_a_cell(void **state) {
    char cell[37], id[37];
    (void)state;
    harness_execute(&h, "runs", cell);
    json_decref(harness_next_cell(&h));
    harness_send(&h, CHANNEL_SHELL, "is_complete_request", json_pack("{s:s}", "code", "if x:"), id);
    int aside = fake_next_aside(h.session);
    harness_say_to(aside,
                   json_pack("{s:s, s:{s:s, s:s}}", "type", "done", "reply", "status", "incomplete", "indent", "    "));
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "is_complete_reply", id);
    expect_text(content, "status", "incomplete");
    json_decref(content);
    harness_done(&h, "ok");
    json_decref(harness_reply(&h, CHANNEL_SHELL, "execute_reply", cell));
    assert_null(strstr(fake_story(h.session), "discard")); /* of the cell beside which it ran */
}

static void test_is_complete_without_an_answer_is_unknown(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "is_complete_request", json_pack("{s:s}", "code", "x"), id);
    fake_next_aside(h.session);
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "is_complete_reply", id);
    expect_text(content, "status", "unknown");
    json_decref(content);
}

static void test_complete_that_breaks_the_wire_has_no_matches(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "complete_request", json_pack("{s:s, s:i}", "code", "abc", "cursor_pos", 2), id);
    harness_say_to(fake_next_aside(h.session), json_pack("{s:s}", "type", "hello"));
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "complete_reply", id);
    expect_text(content, "status", "ok");
    assert_int_equal(json_array_size(json_object_get(content, "matches")), 0);
    assert_int_equal(json_integer_value(json_object_get(content, "cursor_end")), 2);
    json_decref(content);
}

static void test_inspect_without_a_sandbox_finds_nothing(void **state) {
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.create_aside = -EPERM, .detail = "no"});
    json_t *content = ask(CHANNEL_SHELL, "inspect_request", json_pack("{s:s}", "code", "x"), "inspect_reply");
    expect_text(content, "status", "ok");
    assert_true(json_is_false(json_object_get(content, "found")));
    json_decref(content);
}

static void open_comm(const char *comm_id) {
    char id[37];
    harness_send(&h, CHANNEL_SHELL, "comm_open",
                 json_pack("{s:s, s:s, s:{}}", "comm_id", comm_id, "target_name", "t", "data"), id);
    json_t *request = harness_next_cell(&h);
    expect_text(request, "type", "comm");
    expect_text(request, "msg_type", "comm_open");
    json_decref(request);
}

static size_t n_comms(const char *target) {
    json_t *content =
        ask(CHANNEL_SHELL, "comm_info_request", json_pack("{s:s}", "target_name", target), "comm_info_reply");
    size_t n = json_object_size(json_object_get(content, "comms"));
    json_decref(content);
    return n;
}

static void test_comm_open_that_commits_is_listed(void **state) {
    (void)state;
    open_comm("a");
    harness_done(&h, "ok");
    assert_int_equal(n_comms("t"), 1);
    assert_int_equal(n_comms("another"), 0);
}

static void test_comm_open_that_is_rolled_back_is_forgotten(void **state) {
    struct message message;
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "comm_open",
                 json_pack("{s:s, s:s, s:{}}", "comm_id", "b", "target_name", "t", "data"), id);
    json_decref(harness_next_cell(&h));
    fake_cell_dies(h.session, &(struct cell_end){.exited = true, .code = 1});
    harness_wait_published(&h, "error", id, &message);
    expect_text(message.content, "ename", "CellCrashed");
    message_fini(&message);
    assert_int_equal(n_comms("t"), 0);
}

static void test_shutdown_is_told_to_all_and_answered(void **state) {
    char id[37];
    (void)state;
    harness_start(&h, NULL);
    harness_send(&h, CHANNEL_CONTROL, "shutdown_request", json_pack("{s:b}", "restart", 1), id);
    json_t *content = harness_reply(&h, CHANNEL_CONTROL, "shutdown_reply", id);
    assert_true(json_is_true(json_object_get(content, "restart")));
    json_decref(content);
    char *heard = harness_heard(&h, id);
    assert_string_equal(heard, "busy shutdown_reply idle");
    free(heard);
    harness_stop(&h);
}

#define COLD(test) cmocka_unit_test_setup_teardown(test, start, stop)
#define WARM(test) cmocka_unit_test_setup_teardown(test, start_warm, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        COLD(test_kernel_info_before_hello_waits_for_it),
        COLD(test_kernel_info_without_a_worker_is_answered),
        WARM(test_kernel_info_while_a_cell_runs_is_answered),
        COLD(test_unknown_request_is_busy_and_idle),
        COLD(test_request_on_the_wrong_channel_is_unknown),
        COLD(test_connect_names_the_ports),
        COLD(test_heartbeat_gives_bytes_back),
        WARM(test_is_complete_runs_beside_a_cell),
        WARM(test_is_complete_without_an_answer_is_unknown),
        WARM(test_complete_that_breaks_the_wire_has_no_matches),
        WARM(test_inspect_without_a_sandbox_finds_nothing),
        WARM(test_comm_open_that_commits_is_listed),
        WARM(test_comm_open_that_is_rolled_back_is_forgotten),
        cmocka_unit_test(test_shutdown_is_told_to_all_and_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
