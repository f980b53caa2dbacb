/*
 * The gate with libzmq behind it: sockets bound as the kernel's are, and peers that speak ZMTP by hand.
 */
#include "kernel/jupyter/channels.h"
#include "kernel/jupyter/gate.h"
#include "kernel/jupyter/heartbeat.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zmq.h>

#include <cmocka.h>

enum { STUCK_MS = 30000 };

static const struct gate_limits small = {
    .caps = {[CHANNEL_SHELL] = {.frames = 100, .bytes = 1 << 20},
             [CHANNEL_CONTROL] = {.frames = 100, .bytes = 1 << 20},
             [CHANNEL_STDIN] = {.frames = 100, .bytes = 1 << 20},
             [CHANNEL_IOPUB] = {.frames = 16, .bytes = 4096, .kept_bytes = 1000},
             [CHANNEL_HB] = {.frames = 16, .bytes = 4096}},
    .together_bytes = 3 << 20,
    .peers = 8,
    .burst = 1000,
    .per_second = 1000,
};

static struct connection connection;
static struct listeners listeners;
static struct channels channels;

static int open_channels(const struct gate_limits *limits) {
    struct error error;
    connection = (struct connection){.transport = "tcp", .ip = "127.0.0.1"};
    for (int i = 0; i < CHANNEL_N; i++)
        snprintf(connection.endpoint[i], sizeof connection.endpoint[i], "tcp://127.0.0.1:*");
    gate_prepare(limits, NULL);
    int r = listeners_open(&connection, 0, &listeners, &error);
    if (r == 0)
        r = channels_open(&channels, &connection, &listeners, &error);
    if (r < 0)
        print_error("%s\n", error.text);
    return r;
}

static int start(void **state) {
    (void)state;
    return open_channels(&small);
}

static int stop(void **state) {
    (void)state;
    channels_close(&channels);
    listeners_close(&listeners, &connection);
    return 0;
}

static int dial(enum channel channel) {
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)connection.port[channel]),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

/* Sends all, or false where the other side has ended the connection. */
static bool put(int fd, const void *data, size_t n) {
    const char *text = data;
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent < 0)
            return false;
        text += sent;
        n -= (size_t)sent;
    }
    return true;
}

#define PUT(fd, literal) put((fd), (literal), sizeof(literal) - 1)

/* Reads n bytes past the gate, which is this process's too. */
static void take(int fd, size_t n) {
    char text[256];
    assert_in_range(n, 0, sizeof text);
    assert_int_equal(syscall(SYS_recvfrom, fd, text, n, MSG_WAITALL, NULL, NULL), n);
}

/* A peer that has said who it is, and has heard the same of libzmq. */
static int greet(enum channel channel) {
    int fd = dial(channel);
    char greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL";
    unsigned char head[2];
    put(fd, greeting, sizeof greeting);
    if (channel == CHANNEL_IOPUB)
        PUT(fd, "\4\x19\5READY\x0bSocket-Type\0\0\0\3SUB");
    else
        PUT(fd, "\4\x1c\5READY\x0bSocket-Type\0\0\0\6DEALER");
    take(fd, sizeof greeting);
    if (syscall(SYS_recvfrom, fd, head, sizeof head, MSG_WAITALL, NULL, NULL) == sizeof head)
        take(fd, head[1]);
    return fd;
}

/* A frame of n zero bytes, more of the message to follow. */
static bool put_part(int fd, uint32_t n) {
    static const char zeros[1 << 20];
    unsigned char head[9] = {
        3, 0, 0, 0, 0, (unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8), (unsigned char)n};
    return put(fd, head, sizeof head) && put(fd, zeros, n);
}

/* Waits for the end of a connection, through what else it says. */
static void expect_ended(int fd) {
    char rest[4096];
    for (;;) {
        struct pollfd item = {.fd = fd, .events = POLLIN};
        assert_int_equal(poll(&item, 1, STUCK_MS), 1);
        if (syscall(SYS_recvfrom, fd, rest, sizeof rest, 0, NULL, NULL) <= 0)
            break;
    }
    close(fd);
}

/* Whether a message of one frame is heard: the peer is still there, and what it has said before is through. */
static void expect_heard(int fd, enum channel channel) {
    char text[8];
    zmq_pollitem_t item = {.socket = channels.sockets[channel], .events = ZMQ_POLLIN};
    assert_true(PUT(fd, "\0\2hi"));
    for (int more = 1; more;) {
        assert_int_equal(zmq_poll(&item, 1, STUCK_MS), 1);
        int n = zmq_recv(channels.sockets[channel], text, sizeof text, 0);
        size_t bytes = sizeof more;
        zmq_getsockopt(channels.sockets[channel], ZMQ_RCVMORE, &more, &bytes);
        if (!more)
            assert_true(n == 2 && memcmp(text, "hi", 2) == 0);
    }
}

static void test_gate_ends_a_message_of_too_many_frames(void **state) {
    (void)state;
    int fd = greet(CHANNEL_SHELL);
    for (int i = 0; i < 100; i++)
        assert_true(PUT(fd, "\1\0"));
    expect_heard(fd, CHANNEL_SHELL);
    for (int i = 0; i < 101; i++)
        (void)PUT(fd, "\1\0");
    expect_ended(fd);
}

static void test_gate_ends_a_message_of_too_many_bytes(void **state) {
    (void)state;
    int fd = greet(CHANNEL_CONTROL);
    for (int i = 0; i < 4; i++)
        assert_true(put_part(fd, 1 << 18));
    expect_heard(fd, CHANNEL_CONTROL);
    for (int i = 0; i < 5; i++)
        (void)put_part(fd, 1 << 18);
    expect_ended(fd);
}

static void test_gate_counts_frames_with_heartbeats_between_them(void **state) {
    (void)state;
    int fd = greet(CHANNEL_SHELL);
    for (int i = 0; i < 101; i++)
        (void)PUT(fd, "\1\0\4\7\4PING\0\0");
    expect_ended(fd);
}

static void test_gate_allows_any_number_of_whole_messages(void **state) {
    (void)state;
    int fd = greet(CHANNEL_STDIN);
    for (int i = 0; i < 500; i++)
        expect_heard(fd, CHANNEL_STDIN);
    close(fd);
}

static void test_gate_over_the_total_ends_the_most_costly_peer(void **state) {
    int fds[6];
    (void)state;
    int little = greet(CHANNEL_SHELL);
    assert_true(put_part(little, 1000));
    for (int i = 0; i < 6; i++) {
        fds[i] = greet(CHANNEL_SHELL);
        (void)put_part(fds[i], (1 << 19) + (i == 2 ? 1 << 18 : 0));
    }
    expect_ended(fds[2]);
    for (int i = 0; i < 6; i++)
        if (i != 2)
            close(fds[i]);
    expect_heard(little, CHANNEL_SHELL);
    close(little);
}

/* A read of few bytes holds a buffer of 8 KiB: a hundred such are no little thing. */
static void test_gate_counts_the_buffers_of_small_reads(void **state) {
    (void)state;
    static const struct gate_limits tight = {
        .caps = {[CHANNEL_SHELL] = {.frames = 100, .bytes = 1 << 20},
                 [CHANNEL_CONTROL] = {.frames = 1, .bytes = 1},
                 [CHANNEL_STDIN] = {.frames = 1, .bytes = 1},
                 [CHANNEL_IOPUB] = {.frames = 1, .bytes = 1}},
        .together_bytes = 50 << 10,
        .peers = 8,
        .burst = 8,
        .per_second = 8,
    };
    channels_close(&channels);
    assert_int_equal(open_channels(&tight), 0);
    int fd = greet(CHANNEL_SHELL);
    /* Each is answered before the next comes, so each is a read of its own. */
    char part[2 + 40 + 9] = "\1\x28";
    memcpy(part + 42, "\4\7\4PING\0\0", 9);
    for (int i = 0; i < 2; i++) {
        assert_true(put(fd, part, sizeof part));
        take(fd, strlen("..\4PONG"));
    }
    (void)put(fd, part, sizeof part);
    expect_ended(fd);
}

static void test_gate_ends_a_peer_with_too_many_subscriptions(void **state) {
    (void)state;
    int fd = greet(CHANNEL_IOPUB);
    char topic[102] = "\0\x64\1";
    for (int i = 0; i < 11; i++) {
        topic[4] = (char)('a' + i);
        (void)put(fd, topic, sizeof topic);
    }
    expect_ended(fd);
}

static void test_gate_ends_peers_over_the_maximum(void **state) {
    int fds[8];
    (void)state;
    for (int i = 0; i < 8; i++) {
        fds[i] = greet(CHANNEL_SHELL);
        expect_heard(fds[i], CHANNEL_SHELL);
    }
    expect_ended(dial(CHANNEL_SHELL));
    expect_heard(fds[0], CHANNEL_SHELL);
    close(fds[3]);
    close(fds[5]);
    /* Who is gone makes room; libzmq hears of it in its own time. */
    for (bool in = false; !in;) {
        int fd = dial(CHANNEL_SHELL);
        struct pollfd item = {.fd = fd, .events = POLLIN};
        char answer[64];
        in = PUT(fd, "\xff\0\0\0\0\0\0\0\1\x7f\3") && poll(&item, 1, STUCK_MS) == 1 &&
             syscall(SYS_recvfrom, fd, answer, 11, MSG_WAITALL, NULL, NULL) == 11;
        close(fd);
    }
    for (int i = 0; i < 8; i++)
        if (i != 3 && i != 5)
            close(fds[i]);
}

/* Who is heard on a socket, and is told so, by the way that the message came. */
static void expect_answered(int fd) {
    unsigned char way[256];
    char text[8];
    void *socket = channels.sockets[CHANNEL_SHELL];
    zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
    assert_true(PUT(fd, "\0\2hi"));
    assert_int_equal(zmq_poll(&item, 1, STUCK_MS), 1);
    int n = zmq_recv(socket, way, sizeof way, 0);
    assert_int_equal(n, 5);
    assert_memory_not_equal(way, "alice", 5);
    assert_int_equal(zmq_recv(socket, text, sizeof text, 0), 2);
    zmq_send(socket, way, (size_t)n, ZMQ_SNDMORE);
    zmq_send(socket, "yo", 2, 0);
    assert_int_equal(syscall(SYS_recvfrom, fd, text, 4, MSG_WAITALL, NULL, NULL), 4);
    assert_memory_equal(text, "\0\2yo", 4);
}

static void put_slowly(int fd, const char *data, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int unsent = 1;
        assert_true(put(fd, data + i, 1));
        while (unsent > 0) /* taken, so that it is a read of its own */
            assert_int_equal(ioctl(fd, SIOCOUTQ, &unsent), 0);
    }
}

/* The same identity, said in each way there is: none takes another's place, and each is answered. */
static void test_gate_gives_peers_with_the_same_identity_different_routing_ids(void **state) {
    static const char greeting[64] = "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL";
    static const char ready[] = "\4\x2e\5READY\x0bSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0\5alice";
    int fds[3];
    (void)state;
    for (int i = 0; i < 3; i++)
        fds[i] = dial(CHANNEL_SHELL);
    for (int i = 0; i < 2; i++) {
        put(fds[i], greeting, sizeof greeting);
        take(fds[i], sizeof greeting);
        take(fds[i], 2 + 46 - 5 - 6 + 6); /* libzmq's READY: the same, of a ROUTER without an identity */
    }
    put(fds[0], ready, sizeof ready - 1);
    put_slowly(fds[1], ready, sizeof ready - 1);
    PUT(fds[2], "\xff\0\0\0\0\0\0\0\1\x7f\1\x05\0\5alice");
    take(fds[2], 12 + 2); /* ZMTP 2.0: its greeting, and its identity, which is empty */
    for (int i = 0; i < 3; i++)
        expect_answered(fds[i]);
    expect_answered(fds[0]);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

static void test_gate_refuses_other_protocols(void **state) {
    (void)state;
    int fd = dial(CHANNEL_SHELL);
    assert_true(PUT(fd, "GET / HTTP/1.1\r\n\r\n"));
    expect_ended(fd);
}

static void test_gate_does_not_count_other_descriptors(void **state) {
    int pair[2];
    char text[8];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(write(pair[1], "no zmtp", 7), 7);
    assert_int_equal(recv(pair[0], text, sizeof text, 0), 7);
    assert_int_equal(recv(pair[0], text, sizeof text, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EAGAIN);
    close(pair[0]);
    close(pair[1]);
}

static void test_gate_allows_the_largest_message_of_the_protocol(void **state) {
    (void)state;
    static const enum channel requests[] = {CHANNEL_SHELL, CHANNEL_CONTROL, CHANNEL_STDIN};
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        assert_int_equal(gate_default_limits.caps[requests[i]].bytes, message_default_caps.max_bytes);
        assert_true(gate_default_limits.caps[requests[i]].frames > message_default_caps.max_frames);
    }
    assert_true(gate_default_limits.together_bytes > message_default_caps.max_bytes);
}

static void test_gate_of_a_bad_endpoint_is_refused(void **state) {
    (void)state;
    assert_int_equal(gate_open(CHANNEL_HB, "tcp://127.0.0.1:*"), -EINVAL);
    assert_int_equal(gate_open(CHANNEL_HB, "nowhere"), -EINVAL);
    assert_int_equal(gate_open(CHANNEL_HB, "ipc://"), -EINVAL);
    assert_int_equal(gate_open(CHANNEL_HB, "ipc:///tmp/x-1"), 0);
    assert_int_equal(gate_open(CHANNEL_HB, "ipc:///tmp/x-2"), -EINVAL); /* the channels have the other four */
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_gate_ends_a_message_of_too_many_frames),
        CASE(test_gate_ends_a_message_of_too_many_bytes),
        CASE(test_gate_counts_frames_with_heartbeats_between_them),
        CASE(test_gate_allows_any_number_of_whole_messages),
        CASE(test_gate_over_the_total_ends_the_most_costly_peer),
        CASE(test_gate_counts_the_buffers_of_small_reads),
        CASE(test_gate_ends_a_peer_with_too_many_subscriptions),
        CASE(test_gate_ends_peers_over_the_maximum),
        CASE(test_gate_gives_peers_with_the_same_identity_different_routing_ids),
        CASE(test_gate_refuses_other_protocols),
        CASE(test_gate_does_not_count_other_descriptors),
        CASE(test_gate_allows_the_largest_message_of_the_protocol),
        CASE(test_gate_of_a_bad_endpoint_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
