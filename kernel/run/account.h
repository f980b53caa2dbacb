/*
 * account.h - spec, budget, report and record of a run, whether an execute_request or a comm message asked for it.
 *
 * Before the cell: reads what metadata.petri asks for, within the ceilings, and
 * checks the budget of its task. After the cell: makes the run report and the
 * record. What happens in between is in runner.h, watchdog.h and collect.h.
 */
#ifndef PETRI_ACCOUNT_H
#define PETRI_ACCOUNT_H

#include "kernel/run/run.h"

struct accounts;
struct session;

/* Reads what the request asks for into run->asked.spec and run->asked.limits. Sets the outcome where it may not run. */
void account_begin(struct accounts *accounts, struct run *run);

/*
 * The run report of a run that has ended, with run->result.error set where it
 * ended badly. The record is stored before this returns, so a client that has the
 * report can rely on the record. session is NULL where there is none. The
 * caller's.
 */
json_t *account_end(struct accounts *accounts, const struct session *session, struct run *run);

/* Once a run has its reply: makes room for the record of the next one. */
void account_tidy(struct accounts *accounts);

#endif
