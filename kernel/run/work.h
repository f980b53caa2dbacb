/*
 * work.h - a run from its request's frame to its frozen cell: RUN_BEGINS, RUN_WORKS and RUN_FAILED (runner.h).
 */
#ifndef PETRI_WORK_H
#define PETRI_WORK_H

#include "kernel/base/poll_set.h"

#include <jansson.h>

struct run;

/* Gives the run a cell, and starts it with this frame, which is borrowed. Then the run works, or is over. */
void work_begin(struct run *run, json_t *frame);

/* What to wait for while the run works. */
void work_watch(struct run *run, struct poll_set *set);

/* Does what is due: then the run works, collects (collect.h), or is over. */
void work_tick(struct run *run, int64_t now_us);

/* The same while the sandbox has long work for another run (slices_serve()): a cell over a limit is killed, and all
 * that ends it is left to work_tick(). */
void work_meanwhile(struct run *run, int64_t now_us);

#endif
