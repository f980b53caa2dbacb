/*
 * watchdog.h - ends a running cell that is over a limit (clock, CPU, memory) or does not stop when interrupted.
 *
 * The exchange measures what a cell has used. The wall clock is kept here,
 * because it may stand still (input.h). Before a cell is ended for its time, the
 * worker is asked to write its Python stack to a pipe, and gets a moment to do
 * so.
 */
#ifndef PETRI_WATCHDOG_H
#define PETRI_WATCHDOG_H

#include "kernel/worker/exchange.h"

struct run;
struct runner;

/* Before the first cell: sets runner->stack_us. */
void watchdog_init(struct runner *runner);

/* The run's cell has been started: its time counts from now. */
void watchdog_begin(struct run *run);

/*
 * For so long nothing was read from the cells: that is not their time, and their limits of time are put off. Those of
 * CPU time are not, nor is the end of a cell that was interrupted.
 */
void watchdog_stop_clock(struct runner *runner, int64_t us);

/* The cell has been measured, and is within its limits. */
void watchdog_measured(struct run *run, int64_t now_us);

/* The exchange has ended because the cell is over a limit, or has executed another program. */
void watchdog_fail(struct run *run, enum exchange_state state);

/* Whether such a cell has time to write its stack; then it is ended by watchdog_tick(). */
bool watchdog_waits_for_stack(const struct run *run);

/* What to wait for while a cell runs, and to do what is due. */
void watchdog_watch(struct run *run, struct poll_set *set);
void watchdog_tick(struct run *run, int64_t now_us);

#endif
