/* Requests that are answered beside or before any cell, through a whole kernel. */
#include "fake_clock.h"
#include "harness.h"

#include "kernel/base/clock.h"
#include "protocol/signer.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
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
    expect_text(content, "protocol_version", "5.6");
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
    harness_send(&h, CHANNEL_CONTROL, "complete_request", json_pack("{s:s}", "code", "1"), id);
    char *heard = harness_heard(&h, id);
    assert_string_equal(heard, "busy idle");
    free(heard);
}

static void test_subshell_request_gets_an_error_reply(void **state) {
    static const char *const names[] = {"create", "delete", "list"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char request[32], reply[32];
        snprintf(request, sizeof request, "%s_subshell_request", names[i]);
        snprintf(reply, sizeof reply, "%s_subshell_reply", names[i]);
        json_t *content = ask(CHANNEL_CONTROL, request, json_object(), reply);
        expect_text(content, "status", "error");
        json_decref(content);
    }
}

static void test_debug_request_gets_a_failed_debug_adapter_response(void **state) {
    (void)state;
    json_t *content =
        ask(CHANNEL_CONTROL, "debug_request",
            json_pack("{s:s, s:i, s:s}", "type", "request", "seq", 7, "command", "initialize"), "debug_reply");
    expect_text(content, "status", "error");
    expect_text(content, "type", "response");
    expect_text(content, "command", "initialize");
    assert_int_equal(json_integer_value(json_object_get(content, "request_seq")), 7);
    assert_true(json_is_false(json_object_get(content, "success")));
    json_decref(content);
    content = ask(CHANNEL_CONTROL, "debug_request", json_object(), "debug_reply");
    expect_text(content, "command", "");
    json_decref(content);
}

static void test_connect_reply_has_the_ports(void **state) {
    static const struct {
        const char *key;
        enum channel channel;
    } ports[] = {
        {"shell_port", CHANNEL_SHELL}, {"iopub_port", CHANNEL_IOPUB},     {"stdin_port", CHANNEL_STDIN},
        {"hb_port", CHANNEL_HB},       {"control_port", CHANNEL_CONTROL},
    };
    static const enum channel asked_on[] = {CHANNEL_SHELL, CHANNEL_CONTROL};
    (void)state;
    for (size_t c = 0; c < 2; c++) {
        json_t *content = ask(asked_on[c], "connect_request", json_object(), "connect_reply");
        expect_text(content, "status", "ok");
        for (size_t i = 0; i < sizeof ports / sizeof ports[0]; i++)
            assert_int_equal(json_integer_value(json_object_get(content, ports[i].key)), 1000 + (int)ports[i].channel);
        json_decref(content);
    }
}

/* ipykernel's fields, each of its kind. */
static void test_usage_has_the_fields_that_clients_show(void **state) {
    static const char *const memory[] = {"total",  "available", "percent", "used",   "free",
                                         "active", "inactive",  "buffers", "cached", "shared"};
    (void)state;
    for (int i = 0; i < 2; i++) { /* shares of time are since the last time */
        json_t *content = ask(CHANNEL_CONTROL, "usage_request", json_object(), "usage_reply");
        assert_true(json_string_length(json_object_get(content, "hostname")) > 0);
        assert_int_equal(json_integer_value(json_object_get(content, "pid")), getpid());
        assert_in_range(json_integer_value(json_object_get(content, "kernel_memory")), 1 << 16, INT64_C(1) << 50);
        assert_in_range(json_integer_value(json_object_get(content, "cpu_count")), 1, 1 << 20);
        assert_true(json_real_value(json_object_get(content, "kernel_cpu")) >= 0);
        double host = json_real_value(json_object_get(content, "host_cpu_percent"));
        assert_true(json_is_real(json_object_get(content, "host_cpu_percent")) && host >= 0 && host <= 100);
        const json_t *host_memory = json_object_get(content, "host_virtual_memory");
        for (size_t m = 0; m < sizeof memory / sizeof memory[0]; m++)
            assert_true(json_is_number(json_object_get(host_memory, memory[m])));
        assert_true(json_integer_value(json_object_get(host_memory, "total")) >=
                    json_integer_value(json_object_get(host_memory, "available")));
        json_decref(content);
    }
}

static void test_history_request_of_unknown_access_type_is_an_error(void **state) {
    (void)state;
    json_t *content =
        ask(CHANNEL_SHELL, "history_request", json_pack("{s:s}", "hist_access_type", "all"), "history_reply");
    expect_text(content, "status", "error");
    expect_text(content, "ename", "ValueError");
    json_decref(content);
}

/* Sends a signed message whose content is this text, as it is. */
static void send_raw(const char *msg_type, const char *content, char ret_id[37]) {
    char header[256], signature[SIGNER_HEX_BYTES + 1];
    message_new_id(ret_id);
    snprintf(header, sizeof header, "{\"msg_id\": \"%s\", \"msg_type\": \"%s\"}", ret_id, msg_type);
    const struct frame parts[] = {{header, strlen(header)}, {"{}", 2}, {"{}", 2}, {content, strlen(content)}};
    enum { N = sizeof parts / sizeof parts[0] };
    signer_sign(h.signer, parts, N, signature);
    void *socket = h.sockets[CHANNEL_SHELL];
    assert_int_equal(zmq_send(socket, "<IDS|MSG>", 9, ZMQ_SNDMORE), 9);
    assert_int_equal(zmq_send(socket, signature, SIGNER_HEX_BYTES, ZMQ_SNDMORE), SIGNER_HEX_BYTES);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(zmq_send(socket, parts[i].data, parts[i].bytes, i + 1 < N ? ZMQ_SNDMORE : 0),
                         (int)parts[i].bytes);
}

static void test_signed_request_that_is_malformed_is_answered_with_an_error(void **state) {
    static const struct {
        const char *msg_type;
        const char *content;
        const char *reply_type;
    } rows[] = {
        {"execute_request", "[1]", "execute_reply"},
        {"complete_request", "{\"code\": ", "complete_reply"},
        {"kernel_info_request", "nonsense", "kernel_info_reply"},
    };
    char id[37];
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        send_raw(rows[i].msg_type, rows[i].content, id);
        json_t *content = harness_reply(&h, CHANNEL_SHELL, rows[i].reply_type, id);
        expect_text(content, "status", "error");
        expect_text(content, "ename", "MalformedRequest");
        assert_true(json_is_array(json_object_get(content, "traceback")));
        json_decref(content);
        char *heard = harness_heard(&h, id);
        assert_string_equal(heard, "busy idle");
        free(heard);
    }
}

static void test_malformed_message_of_a_type_without_reply_gets_none(void **state) {
    char id[37];
    (void)state;
    send_raw("comm_msg", "[]", id);
    json_decref(ask(CHANNEL_SHELL, "comm_info_request", json_object(), "comm_info_reply"));
    char *heard = harness_heard(&h, id);
    assert_string_equal(heard, "busy idle");
    free(heard);
}

static void long_unheard(struct kernel *kernel) {
    kernel->jupyter.hold_requests_until_us = INT64_MAX - 1;
}

/* The harness' client subscribes, and only by that does its first request get an answer. */
static void test_first_request_is_read_once_iopub_has_a_subscriber(void **state) {
    (void)state;
    harness_start(&h, long_unheard);
    json_decref(ask(CHANNEL_SHELL, "comm_info_request", json_object(), "comm_info_reply"));
    harness_stop(&h);
}

static void test_heartbeat_echoes_bytes(void **state) {
    char back[8] = "";
    (void)state;
    assert_int_equal(zmq_send(h.sockets[CHANNEL_HB], "\0ping\xff", 6, 0), 6);
    assert_int_equal(zmq_recv(h.sockets[CHANNEL_HB], back, sizeof back, 0), 6);
    assert_memory_equal(back, "\0ping\xff", 6);
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

/* No cell is made of it: the next one is that of the next request. */
static void test_comm_message_to_a_comm_that_is_not_open_is_ignored(void **state) {
    static const char *const types[] = {"comm_msg", "comm_close"};
    static const char *const contents[] = {"{\"comm_id\": \"none\", \"data\": {}}", "{\"comm_id\": 7}", "{}"};
    char id[37];
    (void)state;
    open_comm("a");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (size_t k = 0; k < sizeof contents / sizeof contents[0]; k++)
            harness_send(&h, CHANNEL_SHELL, types[i], json_loads(contents[k], 0, NULL), id);
    harness_done(&h, "ok");
    assert_int_equal(n_comms("t"), 1);
    harness_send(&h, CHANNEL_SHELL, "comm_close", json_pack("{s:s, s:{}}", "comm_id", "a", "data"), id);
    json_t *request = harness_next_cell(&h);
    expect_text(request, "msg_type", "comm_close");
    json_decref(request);
    harness_done(&h, "ok");
    assert_int_equal(n_comms("t"), 0);
}

static void test_comm_open_of_a_rolled_back_cell_is_not_listed(void **state) {
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

static void test_shutdown_is_answered_and_published_on_iopub(void **state) {
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
        COLD(test_subshell_request_gets_an_error_reply),
        COLD(test_debug_request_gets_a_failed_debug_adapter_response),
        COLD(test_connect_reply_has_the_ports),
        COLD(test_usage_has_the_fields_that_clients_show),
        COLD(test_history_request_of_unknown_access_type_is_an_error),
        COLD(test_signed_request_that_is_malformed_is_answered_with_an_error),
        COLD(test_malformed_message_of_a_type_without_reply_gets_none),
        cmocka_unit_test(test_first_request_is_read_once_iopub_has_a_subscriber),
        COLD(test_heartbeat_echoes_bytes),
        WARM(test_comm_open_that_commits_is_listed),
        WARM(test_comm_open_of_a_rolled_back_cell_is_not_listed),
        WARM(test_comm_message_to_a_comm_that_is_not_open_is_ignored),
        cmocka_unit_test(test_shutdown_is_answered_and_published_on_iopub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
