/*
 * gate.h - bounds what libzmq keeps for peers that are not authenticated.
 *
 * Anyone who can connect to a port of the kernel can make libzmq keep things
 * before any signature is checked: the frames of a message that never ends,
 * subscriptions, what a peer says of itself. libzmq has caps for one frame and
 * for whole messages, and none for these. So each read of a connection is counted
 * as libzmq makes it (zmtp.h): recv(2) is defined in gate.c, and the dynamic
 * linker gives libzmq that one. Past a cap the connection ends as if the peer had
 * hung up, and libzmq drops what it kept.
 *
 * What a message costs is counted as libzmq 4.3 stores it, not as it came: frames
 * of no bytes cost 64 each, and a read of one byte can hold a whole buffer. Where
 * connections together keep too much, the one that keeps most is ended, which is
 * never one that needs little.
 *
 * And it gives each connection a routing id of the kernel's choice in the place
 * of the identity that the peer claims (identities.h): libzmq never hears that.
 *
 * One for the process, for recv(2) has no place for more. The table of peers
 * belongs to libzmq's one I/O thread.
 *
 * See: recv(2), ld.so(8) "symbol"; libzmq, decoder_allocators.cpp.
 */
#ifndef PETRI_GATE_H
#define PETRI_GATE_H

#include "base/cleanup.h"
#include "kernel/base/log.h"
#include "protocol/connection.h"

#include <stdbool.h>
#include <stdint.h>

/* What one connection may have libzmq keep; 0: no matter. */
struct gate_caps {
    uint64_t frames, bytes; /* of a message that goes on */
    uint64_t kept_bytes;    /* of all messages: a subscription is there until the connection ends */
};

struct gate_limits {
    struct gate_caps caps[CHANNEL_N];
    uint64_t together_bytes; /* what all connections cost */
    unsigned peers;          /* connections at once */
    unsigned burst;          /* new ones in a row, */
    unsigned per_second;     /* and as many more each second; a client of libzmq's tries again by itself */
};
extern const struct gate_limits gate_default_limits;

/* Other limits than those above, or NULL, and the log for what was ended, or NULL. Borrowed until gate_close(). */
void gate_prepare(const struct gate_limits *limits, const struct log *log);

/*
 * From now on the limits hold for connections to endpoint, tcp://IP:PORT or
 * ipc://PATH. Called before it is bound; where libzmq chooses the port, at once
 * afterwards. What is no such endpoint, or one too many, is -EINVAL.
 */
int gate_open(enum channel channel, const char *endpoint) MUST_CHECK;

/* Forgets all of that and all peers, once libzmq's context has ended. */
void gate_close(void);

/* Called when a message has come: says once where none was read through here, so that no cap holds. */
void gate_check(void);

#endif
