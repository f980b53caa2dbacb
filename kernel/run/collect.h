/*
 * collect.h - between the end of a cell and its answer: its files, and what was expected of it.
 *
 * The cell is frozen; the runner goes on when all is done. Meanwhile others are
 * answered, and an interrupt (run->now.interrupted) ends the copying and the checks.
 */
#ifndef PETRI_COLLECT_H
#define PETRI_COLLECT_H

#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct runner;

/* The running cell has been frozen: begins. */
void collect_begin(struct runner *runner);

/* Goes on. True once all is done. */
bool collect_step(struct runner *runner, int64_t now_us);

void collect_watch(struct runner *runner, struct poll_set *set);

#endif
