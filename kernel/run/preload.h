/*
 * preload.h - loads what the first error and the first completion need, while nothing else is to do.
 *
 * Once the kernel has been idle for a moment, the worker is asked to warm up in
 * a cell of its own, which is committed: every later cell, and every completion
 * in a throw-away copy, begins with it. A request that comes meanwhile discards
 * the preload, which is tried again later.
 *
 * No request has asked for that cell and it has no record, so it runs only in an
 * image without code of the user's. If the first cell comes sooner there is no
 * preload: the first error loads what it needs, and so does each completion
 * (docs/worker-wire.md).
 *
 * See: docs/worker-wire.md, "warm".
 */
#ifndef PETRI_PRELOAD_H
#define PETRI_PRELOAD_H

#include "kernel/worker/exchange.h"

struct runner;

struct preload {
    struct cell *cell; /* owned; NULL while there is none */
    struct exchange exchange;
    int64_t begin_us; /* when to begin; CLOCK_NEVER while it runs, or while the runner is not idle */
    int tries;
    bool over; /* it has been committed, or has failed too often */
};

void preload_init(struct preload *preload);

/* Whether there is one: the runner must not make a cell ahead, for the image is about to change. */
bool preload_runs(const struct preload *preload);

/* Ends it, if there is one: a request has come. The image is as it was. */
void preload_cancel(struct preload *preload);

void preload_watch(struct preload *preload, struct poll_set *set);
void preload_tick(struct preload *preload, struct runner *runner, int64_t now_us);

#endif
