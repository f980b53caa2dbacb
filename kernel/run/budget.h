/*
 * budget.h - what the runs of a task may use together: the circuit breaker.
 *
 * A request that names a task is refused before it runs once the task has used
 * its runs, its time or its artifacts' bytes. What a task has used is counted
 * in the run records, so a new kernel goes on counting where another one ended;
 * what could not be recorded is counted here, for as long as the kernel lives.
 */
#ifndef PETRI_BUDGET_H
#define PETRI_BUDGET_H

#include "kernel/records/records.h"

struct accounts;
struct run;

enum { BUDGET_TASKS = 10000 }; /* that are counted here */

/* Counts a run that is not in the records; task "" is none. */
void budget_count(struct accounts *accounts, const char *task, const struct record_totals *totals);

/* Sets the outcome where the run's task has nothing left, with the task's last runs in run->result.facts.history. */
void budget_check(struct accounts *accounts, struct run *run);

#endif
