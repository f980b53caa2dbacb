/*
 * collect.h - between the end of a cell and its reply: its files, and the checks that the request asked for.
 *
 * The cell is frozen. The runner continues once all is done; meanwhile the kernel
 * answers other requests, and an interrupt (run->now.interrupted) ends the
 * copying and the checks.
 */
#ifndef PETRI_COLLECT_H
#define PETRI_COLLECT_H

#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct run;

/* Begins, once the run's cell has been frozen. */
void collect_begin(struct run *run);

/* Does one slice of the work. True once all is done. */
bool collect_step(struct run *run, int64_t now_us);

void collect_watch(struct run *run, struct poll_set *set);

#endif
