/* A flood of output, and a subscriber that does not read it. */
#include "kernel/base/clock.h"
#include "tests/kernel/cells.h"
#include "tests/kernel/fake_clock.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

enum { BOUND = 1 << 20, FLOOD = 16 << 20, PIECE = 1 << 16, ROUNDS = 50, TIMEOUT_MS = 5000 };
/* What expect_comm_is_noted() sends: content and metadata. */
enum { COMM_BYTES = sizeof "{\"comm_id\":\"some\",\"target_name\":\"t\",\"data\":{}}{}" - 1 };

static void *slow; /* a SUB socket that holds next to nothing */

static void small_bound(struct kernel *kernel) {
    kernel->jupyter.backpressure.max_bytes = BOUND;
    kernel->jupyter.backpressure.subscriber_us = CLOCK_NEVER;
    kernel->runner.limits.values[LIMIT_OUTPUT] = 2 * FLOOD;
    kernel->runner.limits.values[LIMIT_TIMEOUT] = TIMEOUT_MS;
}

static void no_patience(struct kernel *kernel) {
    small_bound(kernel);
    kernel->jupyter.backpressure.patience_us = 1000;
}

static void disconnects(struct kernel *kernel) {
    small_bound(kernel);
    kernel->jupyter.backpressure.subscriber_us = CLOCK_S / 5;
}

/* Receives a message of the slow subscriber: its type goes to ret_type; returns the bytes of a stream's text, or those
 * that a comm_open counts for where it is dropped. */
static size_t hear(char *ret_type, size_t size) {
    size_t bytes = 0;
    for (int i = 0, more = 1; more; i++) {
        zmq_msg_t part;
        zmq_msg_init(&part);
        assert_true(zmq_msg_recv(&part, slow, 0) >= 0);
        const char *data = zmq_msg_data(&part);
        if (i == 0) {
            const char *dot = memrchr(data, '.', zmq_msg_size(&part));
            snprintf(ret_type, size, "%.*s", dot ? (int)(data + zmq_msg_size(&part) - dot - 1) : 0, dot ? dot + 1 : "");
        }
        json_t *content = i == 6 ? json_loadb(data, zmq_msg_size(&part), 0, NULL) : NULL;
        bytes += json_string_length(json_object_get(content, "text"));
        json_decref(content);
        more = zmq_msg_more(&part);
        zmq_msg_close(&part);
    }
    return strcmp(ret_type, "comm_open") == 0 ? COMM_BYTES : bytes;
}

static int start(harness_change *change) {
    char type[32];
    int one = 1, stuck_ms = 30000, linger_ms = 0;
    harness_start_warm(&h, change);
    slow = zmq_socket(h.context, ZMQ_SUB);
    zmq_setsockopt(slow, ZMQ_RCVHWM, &one, sizeof one);
    zmq_setsockopt(slow, ZMQ_RCVTIMEO, &stuck_ms, sizeof stuck_ms);
    zmq_setsockopt(slow, ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_setsockopt(slow, ZMQ_SUBSCRIBE, "", 0);
    assert_int_equal(zmq_connect(slow, h.kernel.jupyter.connection.endpoint[CHANNEL_IOPUB]), 0);
    hear(type, sizeof type); /* the welcome: from now on it is a subscriber */
    return 0;
}

static int start_slow(void **state) {
    (void)state;
    return start(small_bound);
}

static int start_disconnecting(void **state) {
    (void)state;
    return start(disconnects);
}

static int start_stuck(void **state) {
    (void)state;
    return start(no_patience);
}

static int stop(void **state) {
    if (slow)
        zmq_close(slow);
    slow = NULL;
    return cells_stop(state);
}

/* A cell that writes FLOOD bytes, and waits where its pipe is full. */
static void *flood(void *arg) {
    static char piece[PIECE];
    int fd = *(const int *)arg;
    memset(piece, 'x', sizeof piece);
    for (size_t written = 0; written < FLOOD; written += sizeof piece)
        if (write(fd, piece, sizeof piece) != sizeof piece)
            return "a short write";
    return NULL;
}

/* A cell that runs, and the thread that is to write all of it. */
static pthread_t begin_flood(char id[37]) {
    static int fd;
    pthread_t thread;
    begin_cell("floods", id);
    fd = fake_stdout_fd(h.session);
    assert_int_equal(pthread_create(&thread, NULL, flood, &fd), 0);
    return thread;
}

static void expect_over(pthread_t thread) {
    void *what;
    assert_int_equal(pthread_join(thread, &what), 0);
    assert_null(what);
}

/* What the slow subscriber hears of a cell up to its idle status. */
static size_t hear_all(void) {
    char type[32];
    size_t bytes = 0;
    do
        bytes += hear(type, sizeof type);
    while (strcmp(type, "stream") != 0);
    do
        bytes += hear(type, sizeof type);
    while (strcmp(type, "status") != 0);
    return bytes;
}

static void answer_control(void) {
    char id[37];
    harness_send(&h, CHANNEL_CONTROL, "kernel_info_request", json_object(), id);
    json_decref(harness_reply(&h, CHANNEL_CONTROL, "kernel_info_reply", id));
}

static json_int_t dropped_of_reply(void) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *metrics = json_object_get(report_of(&reply), "metrics");
    json_int_t dropped = json_integer_value(json_object_get(metrics, "dropped_bytes"));
    message_fini(&reply);
    return dropped;
}

static void test_backpressure_with_a_slow_subscriber_loses_nothing(void **state) {
    char id[37];
    (void)state;
    pthread_t thread = begin_flood(id);
    while (channels_unsent_bytes(&h.kernel.jupyter.channels) < BOUND)
        sched_yield();
    for (int i = 0; i < ROUNDS; i++) {
        answer_control(); /* each is a turn of the loop or more, in which it could have read on */
        assert_in_range(channels_unsent_bytes(&h.kernel.jupyter.channels), 0, BOUND + 2 * OUTPUTS_CHUNK);
    }
    size_t heard = 0;
    while (heard < FLOOD) {
        char type[32];
        heard += hear(type, sizeof type);
    }
    assert_int_equal(heard, FLOOD);
    expect_over(thread);
    harness_done(&h, "ok");
    assert_int_equal(dropped_of_reply(), 0);
    char *all = harness_heard(&h, id); /* the one that reads hears it too */
    assert_true(strlen(all) > FLOOD);
    free(all);
}

/* For a subscriber that does not read nobody's cell times out. */
static void test_backpressure_for_longer_than_the_time_limit_is_not_the_cells_time(void **state) {
    char id[37];
    (void)state;
    pthread_t thread = begin_flood(id);
    while (channels_unsent_bytes(&h.kernel.jupyter.channels) < BOUND)
        sched_yield();
    answer_control(); /* the loop has seen it */
    answer_control();
    for (int i = 0; i < ROUNDS; i++) {
        fake_clock_put_forward(TIMEOUT_MS * CLOCK_MS / 10);
        answer_control();
    }
    size_t heard = 0;
    while (heard < FLOOD) {
        char type[32];
        heard += hear(type, sizeof type);
    }
    expect_over(thread);
    harness_done(&h, "ok");
    assert_int_equal(dropped_of_reply(), 0);
}

/* A widget that is opened while nobody hears of it is the session's all the same. */
static void expect_comm_is_noted(void) {
    char id[37];
    harness_say(&h, json_pack("{s:s, s:i, s:s, s:{s:s, s:s, s:{}}, s:{}}", "type", "publish", "seq", 1, "msg_type",
                              "comm_open", "content", "comm_id", "some", "target_name", "t", "data", "metadata"));
    expect_ack(1);
    harness_send(&h, CHANNEL_CONTROL, "comm_info_request", json_object(), id);
    json_t *content = harness_reply(&h, CHANNEL_CONTROL, "comm_info_reply", id);
    assert_non_null(json_object_get(json_object_get(content, "comms"), "some"));
    json_decref(content);
}

static void test_backpressure_with_a_stuck_subscriber_drops_messages(void **state) {
    char id[37];
    (void)state;
    pthread_t thread = begin_flood(id);
    expect_over(thread);
    expect_comm_is_noted();
    harness_done(&h, "ok");
    json_int_t dropped = dropped_of_reply();
    assert_in_range(dropped, FLOOD - BOUND - 4 * OUTPUTS_CHUNK, FLOOD - 1);
    /* The comm_open may be dropped too, or come just after room for it: each byte was heard or counted. */
    assert_int_equal(hear_all(), FLOOD + COMM_BYTES - dropped);
    /* Once it reads again, nothing is dropped any more. */
    begin_cell("speaks", id);
    write_all(fake_stdout_fd(h.session), "words");
    harness_done(&h, "ok");
    assert_int_equal(dropped_of_reply(), 0);
    assert_int_equal(hear_all(), strlen("words"));
}

/* It reads nothing, so without that the cell would wait for ever. */
static void test_backpressure_with_a_stuck_subscriber_disconnects_it_and_others_hear_all(void **state) {
    char id[37];
    (void)state;
    pthread_t thread = begin_flood(id);
    expect_over(thread);
    harness_done(&h, "ok");
    assert_int_equal(dropped_of_reply(), 0);
    char *all = harness_heard(&h, id);
    assert_true(strlen(all) > FLOOD);
    free(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_backpressure_with_a_slow_subscriber_loses_nothing, start_slow, stop),
        cmocka_unit_test_setup_teardown(test_backpressure_for_longer_than_the_time_limit_is_not_the_cells_time,
                                        start_slow, stop),
        cmocka_unit_test_setup_teardown(test_backpressure_with_a_stuck_subscriber_disconnects_it_and_others_hear_all,
                                        start_disconnecting, stop),
        cmocka_unit_test_setup_teardown(test_backpressure_with_a_stuck_subscriber_drops_messages, start_stuck, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
