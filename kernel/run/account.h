/*
 * account.h - what is done before and after each cell, whether of an execute_request or of a widget's message.
 *
 * Before it: what its metadata.petri asks for, within the ceilings, and whether
 * its task has anything left. After it: its run report, and the record. What
 * comes between is the same for all in any case: runner.h, watchdog.h, collect.h.
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
 * ended badly. It is recorded before this returns: a client that has its reply
 * can rely on it. session is NULL where there is none. The caller's.
 */
json_t *account_end(struct accounts *accounts, const struct session *session, struct run *run);

#endif
