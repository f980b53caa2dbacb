/*
 * subscribers.h - disconnects the subscribers that keep a cell waiting and do not read.
 *
 * Once too much is unsent, a cell waits for its slowest subscriber (backpressure.h),
 * and anybody who can connect may subscribe. So while a cell waits, each subscriber
 * whose socket is full has to take SUBSCRIBERS_RATE at least. One that falls behind
 * that by more than the patience is disconnected, and the cell goes on with the
 * others. There is more patience with one that has taken more than the buffers of
 * both ends can hold, because somebody reads there.
 *
 * So nobody delays a cell by more than a client with a slow link does, however
 * often it comes back. A client of libzmq's connects again by itself, and misses
 * what was published in between.
 *
 * There is one table for the process, as with the gate, which fills it: see gate.h.
 *
 * See: ZeroMQ guide, "Slow Subscriber Detection"; SIOCOUTQ in tcp(7) and unix(7).
 */
#ifndef PETRI_SUBSCRIBERS_H
#define PETRI_SUBSCRIBERS_H

#include "kernel/base/log.h"

#include <stdint.h>
#include <sys/types.h>

enum {
    SUBSCRIBERS_MAX = 1024,              /* connections with higher descriptors are not known */
    SUBSCRIBERS_RATE = 1 << 20,          /* bytes a second */
    SUBSCRIBERS_PROVED_BYTES = 12 << 20, /* more than the buffers of two sockets hold (tcp(7), tcp_rmem and tcp_wmem) */
    SUBSCRIBERS_PATIENCE_US = 1000000,   /* how far one may fall behind, */
    SUBSCRIBERS_PROVED_US = 9000000,     /* and how much farther one that has proved that it reads */
};

/* Called by libzmq's thread, for which send(2) to a subscriber has returned `sent`. cookie: cookie_of(fd). */
void subscribers_sent(int fd, uint64_t cookie, ssize_t sent);

/* How many connections there are, with some that have closed since a cell last waited. */
size_t subscribers_known(void);

/*
 * Called by the kernel's thread: a cell has waited for held_us, since the last call or since it began to wait.
 * patience_us: SUBSCRIBERS_PATIENCE_US. Disconnects those whose patience is over, and logs who they were.
 */
void subscribers_charge(int64_t held_us, int64_t patience_us, const struct log *log);

/* Forgets all, once libzmq's context has ended. */
void subscribers_clear(void);

#endif
