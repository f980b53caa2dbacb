/*
 * own_limits.h - whether the limits that petri was started with (ulimit, prlimit) leave it enough to run.
 *
 * A process that goes over one is ended by a signal, or fails far from the cause with
 * advice about something else. So they are looked at before anything is done.
 *
 * See: getrlimit(2), prlimit(1).
 */
#ifndef PETRI_OWN_LIMITS_H
#define PETRI_OWN_LIMITS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Raises the soft limits that are too low, as far as the hard ones allow. True if all are
 * high enough; else why is one sentence that names the first that is not, and what to set.
 */
bool own_limits_suffice(char *why, size_t size) MUST_CHECK;

/* From now on a write over the limit of files fails, and the end of CPU time is said, where a signal ended petri. */
void own_limits_take_signals(void);

#endif
