/*
 * displays.h - the limits of rich output: of all that a cell publishes but its streams.
 *
 * A message over the limit `display` (size) is replaced by a text that names its
 * size and types, an error by an error that says so; a comm message is dropped.
 * Of the rich outputs over the limit `displays` (number), the first is replaced
 * and the others are dropped. Updates, errors, comm messages and clear_output
 * don't count towards that number. The bytes of all messages together are
 * bounded: they may be as many as those of `displays` plus DISPLAYS_OTHERS
 * messages of the greatest size.
 */
#ifndef PETRI_DISPLAYS_H
#define PETRI_DISPLAYS_H

#include "kernel/worker/published.h"

#include <stdint.h>

enum {
    DISPLAYS_ENVELOPE_BYTES = 1024, /* headers, signature and topic of a message */
    DISPLAYS_OTHERS = 100,
};

/* The counts of one cell; all but the limits begin with zero. */
struct displays {
    int64_t limit_bytes; /* of one message */
    int64_t limit_n;
    int64_t n;
    uint64_t sent_bytes; /* of all messages, with their envelopes */
    uint64_t dropped_bytes;
    bool told_comm; /* stderr has the line about a message that was dropped for its size */
    bool told_all;  /* stderr has the line about the sum, over which all further messages are dropped */
};

/*
 * Whether to publish the message; its content may have been replaced. Where it is
 * dropped for the first time for its reason, note is set to a line for stderr,
 * else to "". Counts dropped bytes.
 */
bool displays_admit(struct displays *displays, struct published *message, char *note, size_t note_bytes);

/* The content that replaces an error over the limit, of so many bytes; content is NULL or the error's. The caller's. */
json_t *displays_error(int64_t limit_bytes, const json_t *content, size_t bytes);

#endif
