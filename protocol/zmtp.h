/*
 * zmtp.h - what a ZeroMQ peer has sent, counted: messages, their frames, and the bytes of a message that goes on.
 *
 * libzmq keeps the frames of a message until its last one has come, whoever
 * sends them, and neither ZMQ_MAXMSGSIZE (one frame) nor a high-water mark
 * (whole messages) bounds that. This reads the same bytes beside it and keeps
 * nothing but numbers. On the way it says where the identity stands that a peer
 * gives itself, as a property of its READY or, in ZMTP 2.0, as its first frame.
 *
 * See: ZMTP 3.1 (RFC 37), "Formal Grammar"; RFC 15 (2.0). libzmq, v2_decoder_t.
 */
#ifndef PETRI_ZMTP_H
#define PETRI_ZMTP_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ZMTP_GREETING_BYTES = 64,
    ZMTP_MECHANISM_AT = 12,
    ZMTP_COMMAND_BYTES = 8192, /* what a command may have: subscriptions, and what a peer says of itself */
    ZMTP_IDENTITY_BYTES = 255, /* what an identity may have; libzmq takes no longer one either */
};

enum zmtp_step { ZMTP_GREETING, ZMTP_FLAGS, ZMTP_LENGTH, ZMTP_BODY };
enum zmtp_ready_step {
    ZMTP_READY_COMMAND,
    ZMTP_READY_NAME_LENGTH,
    ZMTP_READY_NAME,
    ZMTP_READY_VALUE_LENGTH,
    ZMTP_READY_VALUE,
    ZMTP_READY_OVER, /* it is no READY */
};

/* What a peer says of itself: a list of names with values. */
struct zmtp_ready {
    enum zmtp_ready_step step;
    bool is_identity; /* the property that goes on, as far as its name has come */
    bool has_identity;
    size_t at, length; /* of the part that goes on */
};

/* One connection, all zero at its beginning. */
struct zmtp {
    uint64_t messages; /* that have ended */
    uint64_t frames;   /* of the message that goes on, those that have begun */
    uint64_t bytes;    /* and what has come of them */
    uint64_t begun;    /* frames since the connection began */
    uint64_t kept;     /* bytes of messages and commands since then, heartbeats excepted: what subscriptions can hold */
    bool curve;        /* the greeting says CURVE: frames hide what is in them, from who knows the server's key */

    size_t identity_bytes;  /* that the peer's identity has, once that is known; 0: none, or hidden */
    size_t identity_come;   /* and how many have come */
    size_t part_at, part_n; /* where the last of them stand in what was counted last */

    enum zmtp_step step; /* from here on its own */
    unsigned char greeting[ZMTP_GREETING_BYTES];
    unsigned char flags;
    bool heartbeat;
    size_t at;     /* of the greeting, or of the length */
    uint64_t left; /* of the frame */
    uint64_t frame_bytes;
    struct zmtp_ready ready;
};

/*
 * Counts n more bytes of the connection. 0, or -EPROTO: a peer that speaks
 * ZMTP 1.0 (libzmq 2), which no client of today does, a command that is longer
 * than any is, or a second identity.
 */
int zmtp_count(struct zmtp *zmtp, const void *data, size_t n) MUST_CHECK;

#endif
