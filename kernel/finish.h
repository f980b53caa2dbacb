/*
 * finish.h - between the end of a cell and its answer: its files, and what was expected of it.
 *
 * The cell is frozen; the runner goes on when all is done. Meanwhile others are
 * answered, and an interrupt ends the copying and the checks.
 */
#ifndef PETRI_FINISH_H
#define PETRI_FINISH_H

#include "kernel/poll_set.h"

#include <stdbool.h>

struct kernel;
struct run;

/* The running cell is frozen: begins. True where all is done already. */
bool finish_begin(struct kernel *kernel);

/* Goes on. True once all is done. */
bool finish_step(struct kernel *kernel, int64_t now_us);

void finish_watch(struct kernel *kernel, struct poll_set *set);

/* Nobody wants to wait any more. */
void finish_interrupt(struct run *run);

#endif
