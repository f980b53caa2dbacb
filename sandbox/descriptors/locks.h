/*
 * locks.h - locks of an image's files: noted when its cell is frozen, and taken again by each cell that is made of it.
 *
 * All cells of a session lock the same files. So the locks of an image end with its
 * cell: the image has the files open still, and would keep the next cells out.
 *
 * See: proc_pid_fdinfo(5), fcntl_locking(2), flock(2).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_LOCKS_H
#define PETRI_SANDBOX_DESCRIPTORS_LOCKS_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"
#include "sandbox/process/procfs.h"

/* More of one descriptor and its cell is rolled back. */
enum { LOCKS_MAX = 64 };

/* Notes the locks that an fdinfo tells of, in the state of a file's descriptor. 0, -E2BIG where there are more than
 * LOCKS_MAX, -EBADMSG or -ENOMEM. */
int locks_note(struct procfs_text fdinfo, struct descriptor *descriptor) MUST_CHECK;

/* Ends an image's record locks, which only its keeper can do. 0 or -errno. */
int locks_end(const struct descriptors *list, const struct inject_task *keeper) MUST_CHECK;

/* Has the restorer's task take them, when it has all its files; what can't be had again is gone. 0 or -EUCLEAN. */
int locks_restore(const struct descriptors *list, struct restorer *restorer) MUST_CHECK;

#endif
