/*
 * Subscribers of each kind, and what they are charged: connections of this process, of which the test has both ends.
 */
#include "kernel/jupyter/cookie.h"
#include "kernel/jupyter/subscribers.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum {
    LOOK_US = 10000, /* between two looks, for which the cell waits */
    LOOKS_MAX = 3 * (SUBSCRIBERS_PATIENCE_US + SUBSCRIBERS_PROVED_US) / LOOK_US,
    AT_RATE = SUBSCRIBERS_RATE / (1000000 / LOOK_US), /* bytes a look that are just enough */
    BUFFER = 64 << 10,
};

static const struct log quiet; /* errors only */

struct link {
    int kernel_fd, peer_fd;
};

static void open_pair(struct link *link) {
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
    *link = (struct link){fds[0], fds[1]};
}

static void open_tcp(struct link *link) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    const int buffer = BUFFER, type = SOCK_STREAM | SOCK_CLOEXEC;
    int listener = socket(AF_INET, type, 0);
    setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &bytes), 0);
    link->peer_fd = socket(AF_INET, type, 0);
    setsockopt(link->peer_fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    assert_int_equal(connect(link->peer_fd, (struct sockaddr *)&address, bytes), 0);
    link->kernel_fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    assert_true(link->kernel_fd >= 0);
    close(listener);
}

static void (*const ways[])(struct link *) = {open_pair, open_tcp};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

/* Sends as libzmq does: as much as there is room for. */
static void fill(const struct link *link) {
    static const char zeros[BUFFER];
    ssize_t sent;
    do {
        sent = send(link->kernel_fd, zeros, sizeof zeros, MSG_DONTWAIT | MSG_NOSIGNAL);
        subscribers_sent(link->kernel_fd, cookie_of(link->kernel_fd), sent);
    } while (sent > 0);
}

/* Reads up to n bytes; returns how many there were. */
static size_t read_some(const struct link *link, size_t n) {
    static char text[BUFFER];
    size_t got = 0;
    while (got < n) {
        ssize_t more = recv(link->peer_fd, text, n - got < sizeof text ? n - got : sizeof text, MSG_DONTWAIT);
        if (more <= 0)
            break;
        got += (size_t)more;
    }
    return got;
}

/* What it is sent is read until so many bytes were. */
static void read_at_once(const struct link *link, size_t n) {
    while (n > 0) {
        fill(link);
        n -= read_some(link, n);
    }
}

static bool is_ended(const struct link *link) {
    struct pollfd item = {.fd = link->kernel_fd, .events = POLLIN};
    return poll(&item, 1, 0) == 1 && (item.revents & POLLHUP);
}

/* A cell waits for a subscriber that reads so many bytes a look: after how many looks it was ended, or LOOKS_MAX. */
static int wait_for(const struct link *link, size_t bytes_a_look) {
    for (int look = 0; look < LOOKS_MAX; look++) {
        fill(link);
        if (is_ended(link))
            return look;
        (void)read_some(link, bytes_a_look);
        subscribers_charge(LOOK_US, SUBSCRIBERS_PATIENCE_US, &quiet);
    }
    return LOOKS_MAX;
}

static void end_link(const struct link *link) {
    close(link->kernel_fd);
    close(link->peer_fd);
}

static int clear(void **state) {
    (void)state;
    subscribers_clear();
    return 0;
}

enum { PATIENCE_LOOKS = SUBSCRIBERS_PATIENCE_US / LOOK_US, PROVED_LOOKS = SUBSCRIBERS_PROVED_US / LOOK_US };

static void test_subscriber_slower_than_the_rate_is_ended(void **state) {
    static const size_t slow[] = {0, 1, AT_RATE / 100, AT_RATE / 2};
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++)
        for (size_t i = 0; i < sizeof slow / sizeof slow[0]; i++) {
            struct link link;
            ways[way](&link);
            /* Half the rate is half as late; and what is on its way at the beginning and the end is some looks more. */
            int looks = wait_for(&link, slow[i]);
            assert_in_range(looks, PATIENCE_LOOKS, 4 * PATIENCE_LOOKS);
            end_link(&link);
        }
}

static void test_subscriber_at_the_rate_or_faster_is_never_ended(void **state) {
    static const size_t quick[] = {2 * AT_RATE, 10 * AT_RATE};
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++)
        for (size_t i = 0; i < sizeof quick / sizeof quick[0]; i++) {
            struct link link;
            ways[way](&link);
            assert_int_equal(wait_for(&link, quick[i]), LOOKS_MAX);
            end_link(&link);
        }
}

static void test_subscriber_that_has_read_and_stops_is_ended_later(void **state) {
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++) {
        struct link link;
        ways[way](&link);
        read_at_once(&link, SUBSCRIBERS_PROVED_BYTES + ((size_t)1 << 20));
        assert_in_range(wait_for(&link, 0), PROVED_LOOKS, PROVED_LOOKS + 2 * PATIENCE_LOOKS);
        end_link(&link);
    }
}

/* It has no more patience than another new one, though it has the same descriptor. */
static void test_subscriber_that_comes_again_begins_anew(void **state) {
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++) {
        struct link first, again;
        ways[way](&first);
        read_at_once(&first, SUBSCRIBERS_PROVED_BYTES + ((size_t)1 << 20));
        fill(&first);
        subscribers_charge(LOOK_US, SUBSCRIBERS_PATIENCE_US, &quiet);
        end_link(&first);
        ways[way](&again);
        assert_in_range(wait_for(&again, 0), PATIENCE_LOOKS, 2 * PATIENCE_LOOKS);
        end_link(&again);
    }
}

static void test_hundred_subscribers_that_read_nothing_are_ended_at_once_and_the_one_that_reads_is_not(void **state) {
    enum { N = 100 };
    struct link links[N], reads;
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++) {
        ways[way](&reads);
        for (int i = 0; i < N; i++)
            ways[way](&links[i]);
        /* Until the buffers of both ends are full: what the first send fills, Linux moves on to the peer's. */
        for (int look = 0; look < 2 * PATIENCE_LOOKS; look++) {
            for (int i = 0; i < N; i++)
                fill(&links[i]);
            fill(&reads);
            (void)read_some(&reads, 2 * AT_RATE);
            subscribers_charge(LOOK_US, SUBSCRIBERS_PATIENCE_US, &quiet);
        }
        for (int i = 0; i < N; i++) {
            assert_true(is_ended(&links[i]));
            end_link(&links[i]);
        }
        assert_false(is_ended(&reads));
        end_link(&reads);
    }
}

/* The kernel's thread may find a descriptor that is closed, or another socket's. */
static void test_descriptor_that_is_reused_is_left_alone(void **state) {
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++) {
        struct link link, other;
        ways[way](&link);
        fill(&link);
        subscribers_charge(LOOK_US, SUBSCRIBERS_PATIENCE_US, &quiet);
        end_link(&link);
        subscribers_charge(LOOK_US, SUBSCRIBERS_PATIENCE_US, &quiet); /* closed */
        ways[way](&other);
        static const char zeros[BUFFER];
        while (send(other.kernel_fd, zeros, sizeof zeros, MSG_DONTWAIT) > 0)
            ; /* none of libzmq's, so nobody counts it */
        for (int look = 0; look < 2 * PATIENCE_LOOKS; look++)
            subscribers_charge(LOOK_US, SUBSCRIBERS_PATIENCE_US, &quiet);
        assert_false(is_ended(&other));
        end_link(&other);
    }
}

static void test_subscribers_are_counted_until_they_are_closed(void **state) {
    enum { N = 10 };
    struct link links[N];
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++)
        for (int round = 0; round < 3; round++) { /* with the same descriptors */
            for (int i = 0; i < N; i++) {
                ways[way](&links[i]);
                fill(&links[i]);
                fill(&links[i]);
            }
            assert_in_range(subscribers_known(), N, 2 * N);
            for (int i = 0; i < N; i++)
                end_link(&links[i]);
            subscribers_charge(LOOK_US, SUBSCRIBERS_PATIENCE_US, &quiet);
            assert_int_equal(subscribers_known(), 0);
        }
}

/* A kernel that did not get a processor, or a machine that slept, has not seen what others read meanwhile. */
static void test_single_long_wait_ends_nobody(void **state) {
    (void)state;
    for (size_t way = 0; way < N_WAYS; way++) {
        struct link link;
        ways[way](&link);
        fill(&link);
        for (int i = 0; i < 5; i++)
            subscribers_charge(INT64_C(3600) * 1000000, SUBSCRIBERS_PATIENCE_US, &quiet);
        assert_false(is_ended(&link));
        end_link(&link);
    }
}

#define CASE(test) cmocka_unit_test_teardown(test, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_subscriber_slower_than_the_rate_is_ended),
        CASE(test_subscriber_at_the_rate_or_faster_is_never_ended),
        CASE(test_subscriber_that_has_read_and_stops_is_ended_later),
        CASE(test_subscriber_that_comes_again_begins_anew),
        CASE(test_hundred_subscribers_that_read_nothing_are_ended_at_once_and_the_one_that_reads_is_not),
        CASE(test_descriptor_that_is_reused_is_left_alone),
        CASE(test_subscribers_are_counted_until_they_are_closed),
        CASE(test_single_long_wait_ends_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
