/*
 * preload.h - loads ahead of time what the interpreter needs for its first error and its first completion.
 *
 * Once the kernel has been idle for a moment, on a machine that has a processor to
 * spare, the worker loads it in cells of its own, which are committed: every later cell,
 * and every completion, starts with it. There are two portions: what errors and inspections
 * need takes some 200 ms, what some completions need (jedi) up to two seconds. A request
 * that comes meanwhile discards the preload, which is tried again later.
 *
 * No request asks for that cell and no record has it, so it runs only while no
 * user's code has been committed to the image. Where the first cell is committed
 * before it, there is no preload: the first error and each completion load what
 * they need (docs/worker-wire.md).
 *
 * See: docs/worker-wire.md, "warm".
 */
#ifndef PETRI_PRELOAD_H
#define PETRI_PRELOAD_H

#include "kernel/worker/exchange.h"

struct runner;

enum { PRELOAD_PORTIONS = 2 };

struct preload {
    struct cell *cell; /* owned; NULL while there is none */
    struct exchange exchange;
    int64_t begin_us; /* when to begin; CLOCK_NEVER while it runs, or while the runner is not idle */
    int n_done;       /* portions that have been committed */
    int tries;        /* of the next one */
    bool over;        /* all have been committed, or one has failed too often */
};

void preload_init(struct preload *preload);

/* Whether a preload runs. Then the runner must not make a cell ahead, because the image is about to change. */
bool preload_runs(const struct preload *preload);

/* A request has come: ends the preload, if it runs. The image is unchanged. */
void preload_cancel(struct preload *preload);

void preload_watch(struct preload *preload, struct poll_set *set);
void preload_tick(struct preload *preload, struct runner *runner, int64_t now_us);

#endif
