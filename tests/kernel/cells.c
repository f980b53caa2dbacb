#include "cells.h"
#include "fake_clock.h"

#include "kernel/dispatch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct harness h;

int cells_start(void **state) {
    (void)state;
    harness_start_warm(&h, NULL);
    return 0;
}

int cells_start_still(void **state) {
    int r = cells_start(state);
    fake_clock_stop();
    return r;
}

int cells_stop(void **state) {
    (void)state;
    fake_clock_go_on();
    harness_stop(&h);
    return 0;
}

void expect_heard(const char *id, const char *expected) {
    char *heard = harness_heard(&h, id);
    assert_string_equal(heard, expected);
    free(heard);
}

void expect_text(const json_t *json, const char *key, const char *expected) {
    const char *text = json_string_value(json_object_get(json, key));
    assert_non_null(text);
    assert_string_equal(text, expected);
}

void expect_status(const char *id, const char *status) {
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "execute_reply", id);
    expect_text(content, "status", status);
    json_decref(content);
}

/* A rolled-back outcome: the same error in the reply and on iopub. */
void expect_failure(const char *id, const char *heard, const char *ename, const char *evalue) {
    json_t *content = harness_reply(&h, CHANNEL_SHELL, "execute_reply", id);
    expect_text(content, "status", "error");
    expect_text(content, "ename", ename);
    expect_text(content, "evalue", evalue);
    assert_int_equal(json_object_size(json_object_get(content, "user_expressions")), 0);
    assert_true(json_is_array(json_object_get(content, "payload")));
    json_decref(content);
    expect_heard(id, heard);
}

void begin_cell(const char *code, char id[37]) {
    harness_execute(&h, code, id);
    json_decref(harness_next_cell(&h));
}

/* A turn that has begun already may still answer as many requests as it takes; the next then answers one more. */
void take_a_turn(void) {
    char id[37];
    for (int i = 0; i < DISPATCH_PER_TURN + 2; i++) {
        harness_send(&h, CHANNEL_CONTROL, "kernel_info_request", json_object(), id);
        json_decref(harness_reply(&h, CHANNEL_CONTROL, "kernel_info_reply", id));
    }
}

void put_forward(int64_t us) {
    take_a_turn(); /* else what begins now would begin later */
    fake_clock_put_forward(us);
    take_a_turn();
}

void write_all(int fd, const char *text) {
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

json_t *publish(int seq, const char *msg_type) {
    return json_pack("{s:s, s:i, s:s, s:{s:{}, s:{}}, s:{}}", "type", "publish", "seq", seq, "msg_type", msg_type,
                     "content", "data", "metadata", "metadata");
}

void expect_ack(int seq) {
    json_t *ack = harness_told(&h);
    expect_text(ack, "type", "ack");
    assert_int_equal(json_integer_value(json_object_get(ack, "seq")), seq);
    json_decref(ack);
}

/* Another cell runs: the kernel is not stuck. */
void expect_next_cell_runs(void) {
    char id[37];
    begin_cell("1", id);
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input idle");
    expect_status(id, "ok");
}

json_t *report_of(const struct message *reply) {
    return json_object_get(reply->metadata, "petri");
}
