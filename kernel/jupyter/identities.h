/*
 * identities.h - the connections behind the identity that a client gives itself.
 *
 * A client names itself when it connects: jupyter_client and others take their
 * session's id, which is in each message on iopub. Such a name is not proved, and
 * a ROUTER socket sends replies by it: a peer that claims it gets them. So libzmq
 * never gets it. The gate puts a routing id of ours in its place, of the same
 * length, one for each connection, and notes here which connection claims which
 * name. Then a reply goes to the very connection whose request was signed, and to
 * a later one that has signed something under the same name: the client may have
 * lost the first one without anyone having noticed. Questions on stdin, where a
 * client sends nothing before it is asked, go to the connections that claim the
 * name there.
 *
 * One for the process, as the gate is. libzmq's thread writes, the kernel's
 * reads; a lock is between them, which no child of a fork(2) takes.
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
    IDENTITIES_WAYS = 8,        /* connections that one message is sent to, at most */
};

/* A connection with an identity. */
struct identity;

/* A routing id. */
struct identity_way {
    size_t bytes;
    unsigned char data[IDENTITIES_MAX_BYTES];
};

/*
 * Called by libzmq's thread. A connection, with its descriptor and the cookie
 * of that, is to have a routing id of so many bytes, 1 to 255. Borrowed for as
 * long as the connection is there. NULL where all of that length are taken.
 */
struct identity *identities_begin(int fd, uint64_t cookie, enum channel channel, size_t bytes);

/* Puts the routing id, from its byte `at` on, in the place of n bytes of the name, which are kept. */
void identities_take(struct identity *identity, size_t at, unsigned char *data, size_t n);

/* Forgets all. */
void identities_clear(void);

/* The connection with this routing id has signed a message. */
void identities_prove(const struct frame *routing_id);

/*
 * The routing ids to which a message on channel is sent that answers one from
 * this routing id. At least one, which is routing_id itself where nothing is
 * known of it (encrypted connections, and clients without a name) and where its
 * client is not connected.
 */
size_t identities_find(enum channel channel, const struct frame *routing_id,
                       struct identity_way ret_ways[IDENTITIES_WAYS]);

/* Whether two routing ids are the same, or of connections that claim the same name. */
bool identities_are_one(const struct frame *a, const struct frame *b);

#endif
