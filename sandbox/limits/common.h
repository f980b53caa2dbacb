/*
 * common.h - the control group above those of all sessions of a user: "petri-user-UID".
 *
 * It stands beside the groups that sessions have without it: in the group that the
 * processes were started in, so what it bounds are those sessions that were started in one
 * group, as by one Jupyter server or in one container. It is made by the first and
 * removed by the last, without a lock: Linux removes no group that has another below it, and
 * who loses that race makes it again.
 *
 * See: cgroup-v1/pids.rst, cgroup-v2.rst.
 */
#ifndef PETRI_SANDBOX_LIMITS_COMMON_H
#define PETRI_SANDBOX_LIMITS_COMMON_H

#include "base/cleanup.h"

#include <stdint.h>

/* The name of this user's. */
void common_name(char *buf, size_t size);

/*
 * Makes a group below the common one of parent_fd, and that where it is not there.
 * The group's descriptor, or -errno; ret_common_fd: the common one. Both are the caller's.
 */
int common_make(int parent_fd, const char *name, int *ret_common_fd) MUST_CHECK;

/* Removes such a group, and the common one where it was the last. */
void common_remove(int parent_fd, const char *name);

/*
 * Removes the groups that kernels have left which were killed, as the process that should
 * have removed them was, and the common one where there is none left. Groups have the pid
 * namespace and the pid of their kernel in their names.
 */
void common_sweep(int parent_fd);

/* The bound if the group holds it, or a lower one; else 0. */
uint64_t common_held(int common_fd, const char *file, uint64_t value);

/* Sets a bound first. */
uint64_t common_bound(int common_fd, const char *file, uint64_t value);

#endif
