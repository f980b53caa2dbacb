/*
 * own_pipes.h - what a cell beside the session's own writes to in the place of the session's output.
 *
 * See: pipe(2), null(4).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_OWN_PIPES_H
#define PETRI_SANDBOX_DESCRIPTORS_OWN_PIPES_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"

/*
 * Makes a pipe for each of restorer->outputs and puts our end of it there, non-blocking;
 * the task gets the other one under each number that led to the session's. Where
 * restorer->outputs is NULL it gets /dev/null, and the session's own pipe for traces. 0 or
 * -errno; on failure some ends may be there.
 */
int own_pipes_restore(const struct descriptors *list, struct restorer *restorer) MUST_CHECK;

#endif
