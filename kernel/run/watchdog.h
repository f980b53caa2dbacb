/*
 * watchdog.h - ends a running cell that is over its limits of time or memory, or ignores an interrupt.
 *
 * What a cell has used is measured by its exchange; the clock is kept here, for
 * it may stand still (input.h). Before a cell is ended for its time, the worker
 * is asked for its Python stack, which it writes to a pipe within a moment.
 */
#ifndef PETRI_WATCHDOG_H
#define PETRI_WATCHDOG_H

#include "kernel/worker/exchange.h"

struct runner;

/* Before the first cell: sets how long one that is over its time has for its stack. */
void watchdog_init(struct runner *runner);

/* The cell of runner->run has been started: its time counts from now. */
void watchdog_begin(struct runner *runner);

/* It has been measured, and is within its limits. */
void watchdog_measured(struct runner *runner, int64_t now_us);

/* Its exchange has ended over a limit, or because another program runs in it. */
void watchdog_fail(struct runner *runner, enum exchange_state state);

/* What to wait for while a cell runs, and what is due. */
void watchdog_watch(struct runner *runner, struct poll_set *set);
void watchdog_tick(struct runner *runner, int64_t now_us);

#endif
