/*
 * published.h - the messages that a worker may publish, kind by kind, and their sizes.
 *
 * The size of a message is that of its content, metadata and buffers as they are
 * sent. So a message is cut to the fields of its kind, written once, and measured
 * as it is written. The limits (displays.h, outputs.h) are checked against that
 * size, and the same bytes are sent.
 */
#ifndef PETRI_PUBLISHED_H
#define PETRI_PUBLISHED_H

#include "base/cleanup.h"
#include "protocol/bytes.h"
#include "protocol/message.h"
#include "protocol/wire.h"

#include <stdbool.h>

/* What replaces a message that is over its limit. */
enum published_replacement { REPLACEMENT_NONE, REPLACEMENT_TEXT, REPLACEMENT_ERROR };

struct published_kind {
    const char *msg_type;
    const char *fields[5]; /* of its content; NULL ends them. All other fields are dropped */
    bool has_metadata;     /* the message may have metadata and buffers; else they are dropped */
    bool is_output;        /* not published for a silent request */
    bool is_late;          /* may be published under an earlier cell, whose task still writes */
    bool counts;           /* counts towards the limit displays */
    enum published_replacement replacement;
};

/* NULL for a msg_type that no worker may publish. */
const struct published_kind *published_kind(const char *msg_type);

/* One message to publish. */
struct published {
    const struct published_kind *kind;
    json_t *content;                        /* owned */
    json_t *metadata;                       /* owned, or NULL */
    struct bytes text;                      /* content and metadata, as they are sent */
    size_t content_bytes;                   /* of text: the content is at its beginning */
    struct frame buffers[WIRE_MAX_BUFFERS]; /* borrowed from the frame */
    size_t n_buffers;
    size_t bytes;         /* content, metadata and buffers as they are sent */
    size_t dropped_bytes; /* what the worker sent and the kind does not have */
};

/*
 * Reads a publish frame that wire_check() has accepted. ret_message is the
 * caller's (published_fini()) and borrows the frame's buffers. 0 or -ENOMEM.
 */
int published_take(const struct wire_frame *frame, struct published *ret_message) MUST_CHECK;
void published_fini(struct published *message);

/* Replaces content, metadata and buffers by this content, which is stolen. 0 or -ENOMEM. */
int published_replace(struct published *message, json_t *content) MUST_CHECK;

/* The message for channels_send(), without identities and parent. Borrows everything from message. */
struct message_parts published_parts(const struct published *message);

#endif
