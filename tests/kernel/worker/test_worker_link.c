#include "kernel/worker/worker_link.h"
#include "tests/kernel/frames.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

static struct worker_link link_;
static int worker;

static int setup(void **state) {
    int fds[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
    worker_link_init(&link_);
    assert_int_equal(worker_link_attach(&link_, fds[0], 1 << 16), 0);
    worker = fds[1];
    return 0;
}

static int teardown(void **state) {
    (void)state;
    close(link_.fd);
    worker_link_detach(&link_);
    if (worker >= 0)
        close(worker);
    return 0;
}

static void say(json_t *json) {
    frames_say(worker, json);
}

static void test_link_gives_checked_frames(void **state) {
    struct wire_frame frame;
    enum wire_type type;
    const char *why;
    (void)state;
    say(json_pack("{s:s}", "type", "ready"));
    assert_int_equal(worker_link_serve(&link_, ZMQ_POLLIN), 0);
    assert_true(link_.more);
    assert_int_equal(worker_link_next(&link_, &frame, &type, &why), 1);
    assert_int_equal(type, WIRE_READY);
    wire_frame_fini(&frame);
    assert_int_equal(worker_link_next(&link_, &frame, &type, &why), 0);
    assert_false(link_.more);
}

static void test_link_refuses_a_frame_of_unknown_type(void **state) {
    struct wire_frame frame;
    enum wire_type type;
    const char *why = NULL;
    (void)state;
    say(json_pack("{s:s}", "type", "nonsense"));
    assert_int_equal(worker_link_serve(&link_, ZMQ_POLLIN), 0);
    assert_int_equal(worker_link_next(&link_, &frame, &type, &why), -EBADMSG);
    assert_non_null(why);
}

static void test_link_refuses_a_frame_over_the_cap_from_its_head(void **state) {
    static const unsigned char head[] = {0, 0, 0, 0x7f, 0, 0, 0, 0};
    struct wire_frame frame;
    enum wire_type type;
    const char *why = NULL;
    (void)state;
    assert_int_equal(write(worker, head, sizeof head), sizeof head);
    assert_int_equal(worker_link_serve(&link_, ZMQ_POLLIN), 0);
    assert_int_equal(worker_link_next(&link_, &frame, &type, &why), -EMSGSIZE);
    assert_string_equal(why, "a frame over the cap");
}

static void test_link_closed_by_the_worker_does_not_poll(void **state) {
    (void)state;
    assert_int_equal(worker_link_events(&link_), ZMQ_POLLIN);
    close(worker);
    worker = -1;
    assert_int_equal(worker_link_serve(&link_, ZMQ_POLLIN), 0);
    assert_true(link_.ended);
    assert_int_equal(worker_link_events(&link_), 0);
}

/* Sends frames until the socket is full, then one more; the worker gets all of them whole and in order. */
static void test_link_queues_what_the_socket_does_not_take(void **state) {
    struct wire_reader *reader = wire_reader_create(1 << 20);
    char *text = calloc(1, 30001);
    int sent = 0;
    (void)state;
    memset(text, 'x', 30000);
    while (!(worker_link_events(&link_) & ZMQ_POLLOUT) || sent % 10) {
        json_t *json = json_pack("{s:s, s:i, s:s}", "type", "ack", "seq", sent++, "text", text);
        assert_int_equal(worker_link_send(&link_, json, NULL, 0), 0);
        json_decref(json);
    }
    for (int got = 0; got < sent; got++) {
        struct wire_frame frame;
        int r;
        while ((r = wire_reader_next(reader, &frame)) == 0) {
            assert_int_equal(worker_link_serve(&link_, ZMQ_POLLOUT), 0);
            assert_true(wire_reader_fill(reader, worker) > 0);
        }
        assert_int_equal(r, 1);
        assert_int_equal(json_integer_value(json_object_get(frame.json, "seq")), got);
        wire_frame_fini(&frame);
    }
    assert_int_equal(worker_link_events(&link_), ZMQ_POLLIN);
    wire_reader_destroy(reader);
    free(text);
}

/* One that asks and never reads its answers waits: they are not kept without end. */
static void test_link_to_a_worker_that_does_not_read_takes_no_frames(void **state) {
    json_t *ack = json_pack("{s:s, s:i}", "type", "ack", "seq", 1);
    struct wire_frame frame;
    enum wire_type type;
    const char *why;
    (void)state;
    say(json_pack("{s:s, s:i}", "type", "sync", "seq", 1));
    assert_int_equal(worker_link_serve(&link_, ZMQ_POLLIN), 0);
    assert_true(worker_link_has_more(&link_));
    while (!(worker_link_events(&link_) & ZMQ_POLLOUT))
        assert_int_equal(worker_link_send(&link_, ack, NULL, 0), 0);
    assert_int_equal(worker_link_events(&link_), ZMQ_POLLOUT);
    assert_false(worker_link_has_more(&link_));
    assert_int_equal(worker_link_next(&link_, &frame, &type, &why), 0);
    while (worker_link_events(&link_) & ZMQ_POLLOUT) {
        char read_by_it[4096];
        assert_true(read(worker, read_by_it, sizeof read_by_it) > 0);
        assert_int_equal(worker_link_serve(&link_, ZMQ_POLLOUT), 0);
    }
    assert_true(worker_link_has_more(&link_));
    assert_int_equal(worker_link_next(&link_, &frame, &type, &why), 1);
    wire_frame_fini(&frame);
    json_decref(ack);
}

/* For whoever has the link, a worker that has died is one whose socket has ended, whatever was on its way to it. */
static void test_link_to_a_dead_worker_ends_whatever_it_has_not_read(void **state) {
    json_auto_t *json = json_pack("{s:s, s:i}", "type", "ack", "seq", 1);
    teardown(state);
    for (int unread = 0; unread < 2; unread++)
        for (int sent_after = 0; sent_after < 2; sent_after++) {
            setup(state);
            assert_int_equal(unread ? worker_link_send(&link_, json, NULL, 0) : 0, 0);
            close(worker);
            worker = -1;
            assert_int_equal(sent_after ? worker_link_send(&link_, json, NULL, 0) : 0, 0);
            for (int i = 0; i < 2 && !link_.ended; i++)
                assert_int_equal(worker_link_serve(&link_, ZMQ_POLLIN), 0);
            assert_true(link_.ended);
            assert_int_equal(worker_link_events(&link_), 0);
            teardown(state);
        }
    setup(state);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_link_gives_checked_frames),
        TEST(test_link_refuses_a_frame_of_unknown_type),
        TEST(test_link_refuses_a_frame_over_the_cap_from_its_head),
        TEST(test_link_closed_by_the_worker_does_not_poll),
        TEST(test_link_queues_what_the_socket_does_not_take),
        TEST(test_link_to_a_worker_that_does_not_read_takes_no_frames),
        TEST(test_link_to_a_dead_worker_ends_whatever_it_has_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
