/*
 * budget.h - limits that all runs of a task share.
 *
 * A request that names a task is refused before it runs once the task has used
 * its runs, its time or its artifacts' bytes. What a task has used is counted in
 * the run records, so a new kernel continues the count of an earlier one. Runs
 * that could not be recorded are counted here, for as long as the kernel lives.
 */
#ifndef PETRI_BUDGET_H
#define PETRI_BUDGET_H

#include "kernel/records/records.h"

struct accounts;
struct run;

enum { BUDGET_TASKS = 10000 }; /* at most so many tasks have their unrecorded runs counted */

/* Counts a run that is not in the records. Does nothing where task is "". */
void budget_count(struct accounts *accounts, const char *task, const struct record_totals *totals);

/* Where the task has used up its budget: sets the outcome, and run->result.facts.history to the task's last runs. */
void budget_check(struct accounts *accounts, struct run *run);

#endif
