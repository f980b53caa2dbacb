/*
 * rehearsal.h - what the interpreter loads for its first error and its first completion, loaded before anybody waits.
 *
 * Once the kernel has been idle for a moment, the worker is asked to warm up in
 * a cell of its own, which is committed: every later cell, and every completion
 * in a throw-away copy, begins with it. A request that comes meanwhile discards
 * the rehearsal, which is tried again later.
 *
 * Nobody has asked for that cell and no record tells of it, so it runs only as
 * long as no code of the user's has been committed: in an image that none has
 * touched. Where the first cell comes sooner there is none: the first error
 * loads what it needs, and completion goes on as before (docs/worker-wire.md).
 *
 * See: docs/worker-wire.md, "warm".
 */
#ifndef PETRI_REHEARSAL_H
#define PETRI_REHEARSAL_H

#include "kernel/poll_set.h"
#include "kernel/worker_link.h"

struct rehearsal {
    struct cell *cell; /* NULL while there is none */
    struct worker_link link;
    int64_t due_us;     /* when to begin, or, while there is a cell, when to give up */
    int64_t measure_us; /* when the cell is measured next */
    int tries;
    bool over; /* it has been committed, or has failed too often */
    bool committed;
};

void rehearsal_init(struct rehearsal *rehearsal);

/* Whether there is one: the runner must not make a cell ahead, for the image is about to change. */
bool rehearsal_runs(const struct rehearsal *rehearsal);

/* Ends it, if there is one: a request has come. The image is as it was. */
void rehearsal_cancel(struct rehearsal *rehearsal);

void rehearsal_watch(struct kernel *kernel, struct poll_set *set);
void rehearsal_tick(struct kernel *kernel, int64_t now_us);

#endif
