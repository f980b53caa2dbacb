/*
 * subscribers.c - what each subscriber has taken, and by how much it is late.
 *
 * libzmq's thread counts what it has sent, without a lock; a row belongs to a
 * connection as long as its cookie is the descriptor's. The socket says how much of
 * that is not delivered yet; the peer's system has acknowledged the rest. That moves
 * in small steps, while libzmq sends again only once a third of the buffer is free.
 *
 * A subscriber is late by the time for which the cell has waited for it, minus the
 * time that what it took would have needed at the least rate.
 */

#include "subscribers.h"

#include "base/cleanup.h"
#include "kernel/base/clock.h"
#include "kernel/base/pace.h"
#include "kernel/jupyter/cookie.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum {
    CHARGE_US = 10000,    /* at most for one call: the kernel may not have run meanwhile, and the peer neither */
    LINES_PER_SECOND = 1, /* of the log, because anybody who can connect causes them */
    LINES_BURST = 64,
};

/* A connection, at the index of its descriptor. */
struct subscriber {
    atomic_uint_least64_t cookie; /* 0: none. Written last */
    atomic_int_least64_t sent;    /* bytes that libzmq has sent */
    /* From here on the kernel's thread's. */
    uint64_t judged; /* the cookie that the rest is for */
    int64_t taken;   /* bytes that it has taken */
    int64_t late_us;
    bool ended;
};

static struct subscriber subscribers[SUBSCRIBERS_MAX];
static atomic_size_t n_known; /* rows with a cookie; whoever sets one to 0 or from 0 counts that */
static struct pace logged;

void subscribers_sent(int fd, uint64_t cookie, ssize_t sent) {
    if (fd < 0 || fd >= SUBSCRIBERS_MAX || cookie == 0 || sent <= 0)
        return;
    struct subscriber *subscriber = &subscribers[fd];
    if (atomic_load(&subscriber->cookie) != cookie) {
        if (atomic_exchange(&subscriber->cookie, 0) == 0)
            atomic_fetch_add(&n_known, 1);
        atomic_store(&subscriber->sent, 0);
        atomic_store(&subscriber->cookie, cookie);
    }
    atomic_fetch_add(&subscriber->sent, sent);
}

size_t subscribers_known(void) {
    return atomic_load(&n_known);
}

/* For a connection that is closed. libzmq's thread may begin another one in this row at the same time. */
static void forget(struct subscriber *subscriber, uint64_t cookie) {
    if (cookie && atomic_compare_exchange_strong(&subscriber->cookie, &cookie, 0))
        atomic_fetch_sub(&n_known, 1);
}

/* Who a connection is from, for the log: an address, or a user's number. */
static void name_peer(int fd, char *ret_text, size_t size) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name = {0};
    char address[INET6_ADDRSTRLEN] = "?";
    struct ucred user = {0};
    socklen_t bytes = sizeof name, user_bytes = sizeof user;
    bool has_name = getpeername(fd, &name.any, &bytes) == 0;
    if (has_name && name.any.sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &name.v4.sin_addr, address, sizeof address);
    if (has_name && name.any.sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &name.v6.sin6_addr, address, sizeof address);
    if (has_name && name.any.sa_family == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &user_bytes) == 0)
        snprintf(ret_text, size, "user %u", user.uid);
    else
        snprintf(ret_text, size, "%s, port %d", address, ntohs(name.v4.sin_port)); /* at the same place in both */
}

/*
 * Disconnects it. libzmq's thread may close the descriptor at any time, and Linux give it to another socket, so this
 * uses a copy that has the right cookie. False where it is closed, or for now can't be copied.
 */
static bool end(const struct subscriber *subscriber, int fd, const struct log *log) {
    const struct linger none = {.l_onoff = 1}; /* so that Linux, too, drops what it has not sent */
    char who[64];
    auto_fd own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0 || cookie_of(own) != subscriber->judged)
        return false;
    name_peer(own, who, sizeof who);
    (void)setsockopt(own, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    if (shutdown(own, SHUT_RDWR) == 0 && pace_allows(&logged, LINES_PER_SECOND, LINES_BURST))
        log_write(log, LOG_LEVEL_WARNING,
                  "a subscriber of iopub (%s) does not read, or too slowly: it was disconnected, so that no cell waits "
                  "for it",
                  who);
    return true;
}

/* For one whose socket is full: libzmq can't send, or it would have. */
static void charge(struct subscriber *subscriber, int fd, int64_t held_us, int64_t patience_us, const struct log *log) {
    uint64_t cookie = atomic_load(&subscriber->cookie);
    int queued = 0;
    if (subscriber->ended && subscriber->judged == cookie)
        return;
    int64_t taken = atomic_load(&subscriber->sent);
    if (ioctl(fd, SIOCOUTQ, &queued) < 0 || cookie_of(fd) != cookie)
        return;
    taken -= queued;
    if (subscriber->judged != cookie) {
        subscriber->judged = cookie;
        subscriber->taken = taken;
        subscriber->late_us = taken >= SUBSCRIBERS_PROVED_BYTES ? -SUBSCRIBERS_PROVED_US : 0;
        subscriber->ended = false;
    }
    int64_t moved = taken > subscriber->taken ? taken - subscriber->taken : 0;
    int64_t late_us = subscriber->late_us + held_us - moved * CLOCK_S / SUBSCRIBERS_RATE;
    subscriber->taken += moved;
    subscriber->late_us = late_us > -SUBSCRIBERS_PROVED_US ? late_us : -SUBSCRIBERS_PROVED_US;
    if (subscriber->late_us >= patience_us)
        subscriber->ended = end(subscriber, fd, log);
}

void subscribers_charge(int64_t held_us, int64_t patience_us, const struct log *log) {
    struct pollfd items[SUBSCRIBERS_MAX];
    nfds_t n = 0;
    if (held_us > CHARGE_US)
        held_us = CHARGE_US;
    for (int fd = 0; fd < SUBSCRIBERS_MAX; fd++)
        if (atomic_load(&subscribers[fd].cookie))
            items[n++] = (struct pollfd){.fd = fd, .events = POLLOUT};
    if (n == 0 || poll(items, n, 0) < 0)
        return;
    for (nfds_t i = 0; i < n; i++) {
        int fd = items[i].fd;
        uint64_t cookie = atomic_load(&subscribers[fd].cookie);
        if (cookie_of(fd) != cookie)
            forget(&subscribers[fd], cookie);
        else if (items[i].revents == 0)
            charge(&subscribers[fd], fd, held_us, patience_us, log);
    }
}

void subscribers_clear(void) {
    for (int fd = 0; fd < SUBSCRIBERS_MAX; fd++) {
        struct subscriber *subscriber = &subscribers[fd];
        atomic_store(&subscriber->cookie, 0);
        subscriber->judged = 0;
    }
    atomic_store(&n_known, 0);
    logged = (struct pace){0};
}
