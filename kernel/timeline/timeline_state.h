/*
 * timeline_state.h - what this process itself has of a state of the session, and how much memory that takes.
 */
#ifndef PETRI_TIMELINE_STATE_H
#define PETRI_TIMELINE_STATE_H

#include "kernel/policy/limits.h"

#include <jansson.h>
#include <stdint.h>

enum { TIMELINE_PARTS = 3 }; /* of a state that refer to something */

struct timeline_state {
    int execution_count;
    struct limits limits;           /* in force for the next cell */
    json_t *comms;                  /* the map of open comms, a reference of the node's; or NULL */
    json_t *own_files;              /* of which it has its own version: writeback_state(); the same */
    json_t *missed;                 /* cells that its history of inputs lacks: missed.h; the same */
    uint64_t bytes[TIMELINE_PARTS]; /* of these three, in this order; timeline_state_set() measures them */
};

/* state becomes to, which may be a changed copy of it, with references of its own; what it referred to is given back.
 * What like (or NULL) refers to as well is not measured again. */
void timeline_state_set(struct timeline_state *state, const struct timeline_state *to,
                        const struct timeline_state *like);

/* Gives back what the state refers to, and refers to nothing. */
void timeline_state_clear(struct timeline_state *state);

/* Bytes of what the state refers to, and neither of two others does. */
uint64_t timeline_state_own_bytes(const struct timeline_state *state, const struct timeline_state *one,
                                  const struct timeline_state *other);

#endif
