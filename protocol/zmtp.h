/*
 * zmtp.h - counts what a ZeroMQ peer has sent: messages, and the frames and bytes of the current message.
 *
 * libzmq keeps the frames of a message until its last one has arrived, and
 * neither ZMQ_MAXMSGSIZE (one frame) nor a high-water mark (whole messages)
 * bounds that. This reads the same bytes as libzmq and keeps only numbers. It
 * also finds the identity that a peer sends, which is a property of its READY or,
 * in ZMTP 2.0, its first frame.
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
    ZMTP_COMMAND_BYTES = 8192, /* the longest command: subscriptions, and the metadata of READY */
    ZMTP_IDENTITY_BYTES = 255, /* the longest identity, as in libzmq */
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

/* The metadata of a READY command: a list of names with values. */
struct zmtp_ready {
    enum zmtp_ready_step step;
    bool is_identity; /* the current property is Identity, as far as its name has been read */
    bool has_identity;
    size_t at, length; /* of the current part */
};

/* One connection; all zero at its beginning. */
struct zmtp {
    uint64_t messages; /* complete messages */
    uint64_t frames;   /* of the current message: frames that have begun */
    uint64_t bytes;    /* of the current message */
    uint64_t begun;    /* frames since the connection began */
    uint64_t kept;     /* bytes of all messages and commands but heartbeats: the most that subscriptions can have */
    bool curve;        /* the greeting says CURVE: frames are encrypted, and the peer knows the server's key */

    size_t identity_bytes;    /* length of the peer's identity; 0: not known yet, none, or encrypted */
    size_t identity_received; /* bytes of it that have been received */
    size_t part_at, part_n;   /* where the last of them are in the bytes that were counted last */

    enum zmtp_step step; /* the parser's state, from here on */
    unsigned char greeting[ZMTP_GREETING_BYTES];
    unsigned char flags;
    bool heartbeat;
    size_t at;     /* of the greeting, or of the length */
    uint64_t left; /* of the frame */
    uint64_t frame_bytes;
    struct zmtp_ready ready;
};

/*
 * Counts n more bytes of the connection. 0, or -EPROTO for a peer that speaks
 * ZMTP 1.0 (libzmq 2, which no current client uses), a command over
 * ZMTP_COMMAND_BYTES, or a second identity.
 */
int zmtp_count(struct zmtp *zmtp, const void *data, size_t n) MUST_CHECK;

#endif
