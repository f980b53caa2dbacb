/*
 * spare.h - a cell for the next completion, made while the kernel is idle.
 *
 * To make a cell takes longer than to complete a name. So once a completion has been
 * asked for, and whenever nothing has run for a moment since (a shorter one after a
 * completion), the next one's cell is made ahead: one at most. It is a copy of the
 * session, so it is of use until the session's own run that comes next is over, also
 * beside that run; then it is discarded, for no completion may see what was before.
 * Where several in a row were of no use, or nobody has asked for minutes, no more is
 * made until the next completion is asked for.
 *
 * Nothing runs in it before it is taken, and it costs the pages that it has for itself.
 */
#ifndef PETRI_SPARE_H
#define PETRI_SPARE_H

#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct cell;
struct runner;

struct spare {
    struct cell *cell; /* owned; NULL while there is none */
    uint64_t version;  /* of what it is a copy of, or the last completion was: runner.h */
    int64_t due_us;    /* when to make it, or to give it up */
    bool is_wanted;    /* a completion has been asked for */
    unsigned unused;   /* in a row */
};

void spare_init(struct spare *spare);
void spare_fini(struct spare *spare);

/* A completion is asked for. Gives its caller the cell, which is as cell_create() made it; NULL for none. */
struct cell *spare_take(struct spare *spare, const struct runner *runner);

void spare_watch(const struct spare *spare, struct poll_set *set);

/* is_idle: no completion runs or waits. */
void spare_tick(struct spare *spare, struct runner *runner, bool is_idle, int64_t now_us);

#endif
