/*
 * gate.h - bounds the memory that libzmq uses for peers that are not authenticated yet.
 *
 * Anybody who can connect to a port of the kernel can make libzmq keep data
 * before any signature is checked: the frames of a message that never ends,
 * subscriptions, the metadata of the handshake. libzmq has caps for one frame and
 * for whole messages, but none for these. So each read of a connection is counted
 * (zmtp.h): gate.c defines recv(2), and the dynamic linker makes libzmq use that
 * one. Over a cap the connection ends as if the peer had closed it, and libzmq
 * frees what it kept.
 *
 * The cost of a message is the memory that libzmq 4.3 uses to store it, not the
 * bytes that were sent: an empty frame costs 64 bytes, and a read of one byte can
 * keep a whole buffer allocated. Where all connections together cost too much,
 * the one that costs most is ended, so a connection that needs little is never
 * ended for that.
 *
 * It also replaces the identity that a peer claims by a routing id that the
 * kernel chooses (identities.h), so libzmq never gets the claimed one.
 *
 * In the same way it defines send(2), for what each subscriber of iopub takes
 * (subscribers.h).
 *
 * There is one for the process, because recv(2) has no argument to name another.
 * Only libzmq's I/O thread uses the table of peers.
 *
 * See: recv(2), send(2), ld.so(8) "symbol"; libzmq, decoder_allocators.cpp.
 */
#ifndef PETRI_GATE_H
#define PETRI_GATE_H

#include "base/cleanup.h"
#include "kernel/base/log.h"
#include "protocol/connection.h"

#include <stdbool.h>
#include <stdint.h>

/* What libzmq may keep for one connection; 0: unlimited. */
struct gate_caps {
    uint64_t frames, bytes; /* of an incomplete message */
    uint64_t kept_bytes;    /* of all messages, for channels whose messages libzmq keeps until the connection ends
                               (subscriptions) */
};

struct gate_limits {
    struct gate_caps caps[CHANNEL_N];
    uint64_t together_bytes; /* what all connections cost */
    unsigned peers;          /* connections at once */
    unsigned burst;          /* new connections at once, */
    unsigned per_second;     /* and per second after that; a client that uses libzmq reconnects by itself */
};
extern const struct gate_limits gate_default_limits;

/* limits: NULL for gate_default_limits. log: for ended connections, or NULL. Both are borrowed until gate_close(). */
void gate_prepare(const struct gate_limits *limits, const struct log *log);

/*
 * Enforces the limits for connections to endpoint, which is tcp://IP:PORT or
 * ipc://PATH. Has to be called before libzmq accepts any. -EINVAL for any other endpoint, or where there are too many.
 */
int gate_open(enum channel channel, const char *endpoint) MUST_CHECK;

/* Forgets limits, endpoints and peers, once libzmq's context has ended. */
void gate_close(void);

/*
 * Called when a message has been received: logs once if it was not read
 * through recv() here, so that no cap is enforced.
 */
void gate_check(void);

#endif
