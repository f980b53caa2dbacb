/*
 * identities.h - the connections behind the identity that a client gives itself.
 *
 * A client sends an identity (its name here) when it connects: jupyter_client and
 * others use their session's id, which is in each message on iopub. The name is
 * not authenticated, and a ROUTER socket sends replies to the connection that has
 * it. So the gate replaces it by a routing id of the same length that is unique
 * to the connection, and notes the name here; libzmq never gets the name. A reply
 * is sent to the connection whose request was signed, and to a later one that has
 * signed a message under the same name, because the client may have reconnected
 * before the kernel knows that the first connection is lost. A question on stdin,
 * where a client sends nothing before it is asked, is sent to the connections
 * with that name there.
 *
 * There is one table for the process, as with the gate. libzmq's thread writes it
 * and the kernel's thread reads it, under a lock that no child of fork(2) takes.
 *
 * See: Jupyter messaging, "The wire protocol" and "Messages on the stdin
 * channel"; ZMQ_ROUTER_HANDOVER in zmq_setsockopt(3).
 */
#ifndef PETRI_IDENTITIES_H
#define PETRI_IDENTITIES_H

#include "protocol/connection.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    IDENTITIES_MAX_BYTES = 255, /* of one: zmtp.h has the same */
    IDENTITIES_WAYS = 8,        /* connections that one message goes to, at most */
};

/* A connection with an identity. */
struct identity;

/* A routing id. */
struct identity_way {
    size_t bytes;
    unsigned char data[IDENTITIES_MAX_BYTES];
};

/*
 * Called by libzmq's thread. Chooses a routing id of so many bytes, 1 to 255, for
 * a connection with this descriptor and cookie. Borrowed for as long as the
 * connection is open. NULL where none of that length is free.
 */
struct identity *identities_begin(int fd, uint64_t cookie, enum channel channel, size_t bytes);

/* Keeps n bytes of the name, the first of which is its byte `at`, and replaces them in data by the routing id. */
void identities_take(struct identity *identity, size_t at, unsigned char *data, size_t n);

/* Forgets all. */
void identities_clear(void);

/* The connection with this routing id has sent a signed message. */
void identities_prove(const struct frame *routing_id);

/*
 * Finds the connections on channel that a message has to be sent to, for the
 * client that has sent a message with this routing id. Returns their number,
 * which is at least 1: routing_id itself where it is not in the table (encrypted
 * connections, and clients without a name) or where no connection is open.
 */
size_t identities_find(enum channel channel, const struct frame *routing_id,
                       struct identity_way ret_ways[IDENTITIES_WAYS]);

/* Whether two routing ids are the same, or belong to connections with the same name. */
bool identities_are_one(const struct frame *a, const struct frame *b);

#endif
