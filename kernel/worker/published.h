/*
 * published.h - the kinds of messages that a worker may have published, and their sizes.
 *
 * A message is all that goes out for it: content with whatever stands in it,
 * metadata, buffers. So it is cut to the fields that its kind has, written
 * once, and measured as it is written; the limits (displays.h, outputs.h) are
 * held against that, and what they let through is sent as it was measured.
 */
#ifndef PETRI_PUBLISHED_H
#define PETRI_PUBLISHED_H

#include "base/cleanup.h"
#include "protocol/bytes.h"
#include "protocol/message.h"
#include "protocol/wire.h"

#include <stdbool.h>

/* What stands in the place of a message that is over its limit. */
enum published_instead { INSTEAD_NOTHING, INSTEAD_TEXT, INSTEAD_ERROR };

struct published_kind {
    const char *msg_type;
    const char *fields[5]; /* of its content; NULL ends them. What else stands there is dropped */
    bool has_metadata;     /* and buffers, of the message itself; else they are dropped */
    bool is_output;        /* what a silent request keeps to itself */
    bool adds;             /* may go under an earlier cell, where it takes nothing away */
    bool counts;           /* counts as a rich output */
    enum published_instead instead;
};

/* NULL for a msg_type that no worker may publish. */
const struct published_kind *published_kind(const char *msg_type);

/* One message on its way. */
struct published {
    const struct published_kind *kind;
    json_t *content;                        /* owned */
    json_t *metadata;                       /* owned, or NULL */
    struct bytes text;                      /* both, as they are sent */
    size_t content_bytes;                   /* of that, from its beginning */
    struct frame buffers[WIRE_MAX_BUFFERS]; /* borrowed from the frame */
    size_t n_buffers;
    size_t bytes;         /* content, metadata and buffers as they are sent */
    size_t dropped_bytes; /* what the worker sent beside them */
};

/*
 * Reads a publish frame that wire_check() has passed; its buffers are borrowed
 * for ret_message's life, which is the caller's: published_fini(). 0 or -ENOMEM.
 */
int published_take(const struct wire_frame *frame, struct published *ret_message) MUST_CHECK;
void published_fini(struct published *message);

/* Puts another content, which is stolen, in the place of all that the message carries. 0 or -ENOMEM. */
int published_replace(struct published *message, json_t *content) MUST_CHECK;

/* The message for channels_send(), with nothing of who sends it and about what. Borrows all of it. */
struct message_parts published_parts(const struct published *message);

#endif
