/*
 * displays.h - what a cell publishes beside its streams, held to the limits of rich output.
 *
 * A message over the limit of size (display) is replaced by a text that says
 * what it was, an error by one that says so, and what nothing can stand for
 * (a comm's message) is dropped. Of rich outputs over the number (displays) the
 * first is replaced, and the others are dropped. What has no number of its own
 * (updates, errors, comms, clear_output) is bounded with them: all together they
 * are no more than DISPLAYS_OTHERS over the number, of the greatest size, would be.
 */
#ifndef PETRI_DISPLAYS_H
#define PETRI_DISPLAYS_H

#include "kernel/worker/published.h"

#include <stdint.h>

enum {
    DISPLAYS_ENVELOPE_BYTES = 1024, /* what a message has beside what it carries: headers, signature, topic */
    DISPLAYS_OTHERS = 100,
};

/* Of one cell. All zero but the limits is a cell that has shown nothing. */
struct displays {
    int64_t limit_bytes; /* of one */
    int64_t limit_n;
    int64_t n;
    uint64_t sent_bytes; /* of all, with their envelopes */
    uint64_t dropped_bytes;
    bool told_comm; /* that one was dropped, */
    bool told_all;  /* and that everything is from now on */
};

/*
 * Whether to publish the message, which may have another content now. Where a
 * message is dropped and nothing replaces it, note gets a line for stderr, once;
 * else "". Counts what is dropped.
 */
bool displays_admit(struct displays *displays, struct published *message, char *note, size_t note_bytes);

/* What stands for the content of an error of so many bytes, which is too many. The caller's. */
json_t *displays_error(int64_t limit_bytes, const json_t *content, size_t bytes);

#endif
