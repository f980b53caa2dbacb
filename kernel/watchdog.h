/*
 * watchdog.h - what ends a running cell from outside: clock, CPU, memory, an interrupt it does not hear.
 *
 * Before a cell is ended for its time, it is asked where it is: the worker
 * writes its Python stack to a pipe, and is given a moment for it.
 */
#ifndef PETRI_WATCHDOG_H
#define PETRI_WATCHDOG_H

#include "kernel/poll_set.h"

/* Before the first cell: sets how long one that is over its time has for its stack. */
void watchdog_init(struct kernel *kernel);

/* The cell of kernel->runner.run has been started: its limits count from now. */
void watchdog_begin(struct kernel *kernel);

/* What to wait for while a cell runs, and what is due. */
void watchdog_watch(struct kernel *kernel, struct poll_set *set);
void watchdog_tick(struct kernel *kernel, int64_t now_us);

#endif
