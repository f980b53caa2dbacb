/*
 * denied.h - system calls that the sandbox refused, and names that were asked for in vain: answered at once, and
 * counted for the report.
 */
#ifndef PETRI_DENIED_H
#define PETRI_DENIED_H

#include "kernel/base/poll_set.h"

struct runner;

/* Watches for refused calls, as long as there is an image, and for questions of running cells. */
void denied_watch(struct runner *runner, struct poll_set *set);

/* Where a run is over: says on its stderr that there is no network, where it looked for one; once a session. */
void denied_tell(struct runner *runner);

#endif
