/*
 * report.h - the run report that clients and records get.
 *
 * See: docs/contract.md, "The run report".
 */
#ifndef PETRI_REPORT_H
#define PETRI_REPORT_H

#include "kernel/run/run.h"

struct accounts;

/* The caller's; NULL on ENOMEM. session is NULL where there is none. */
json_t *report_run(const struct accounts *accounts, const struct session *session, const struct run *run);

#endif
