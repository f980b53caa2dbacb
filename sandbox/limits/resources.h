/*
 * resources.h - memory and CPU time of a session's cells, measured and bounded by control groups.
 *
 * A session has a group for its own cells and the images they leave, one for ephemeral
 * cells, and one for each place beside its own cell. A cell of the session has no memory
 * group of its own, because the pages that it leaves in the image would keep that group
 * alive for as long as they live; what a cell holds is what its group holds more than at
 * its start.
 *
 * Where no group can be had, processes are watched instead (watcher.h).
 *
 * See: cgroup-v1/memory.rst, cgroup-v2.rst, cgroups(7).
 */
#ifndef PETRI_SANDBOX_LIMITS_RESOURCES_H
#define PETRI_SANDBOX_LIMITS_RESOURCES_H

#include "sandbox/limits/resources_backend.h"

#include <sys/types.h>

/* The name of this process' groups. */
void resources_name(char *buf, size_t size);

/* Finds a backend for this process and makes its groups, as open() of the backend does; NULL, and groups of -1, where
 * there is none. */
const struct resources_backend *resources_find(const struct sandbox_bounds *bounds, struct sandbox_host *ret_host);

/* Moves a process into a group, with all its threads. 0 or -errno. */
int resources_join(const struct resources_group *group, pid_t pid);

#endif
