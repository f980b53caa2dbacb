/*
 * cgroup.h - what Linux says of control groups: where a process is, and the formats of their files.
 *
 * See: cgroups(7), cgroup-v1/memory.rst, cgroup-v2.rst.
 */
#ifndef PETRI_SANDBOX_CGROUP_H
#define PETRI_SANDBOX_CGROUP_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

/* Makes a group below that of parent_fd, if it is not there. A descriptor of its folder, the caller's, or -errno. */
int cgroup_make(int parent_fd, const char *name) MUST_CHECK;

/* Reads "KEY VALUE" from a file of such lines below dir_fd. 0, -ENOENT where no line has the key, or -errno. */
int cgroup_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret_value);

/* The same for several keys of one file, which is read once: these files are made anew at each reading. */
int cgroup_read_keys(int dir_fd, const char *file, const char *const *keys, uint64_t *ret_values, size_t n);

/* Reads a file that is one number. 0 or -errno. */
int cgroup_read_number(int dir_fd, const char *file, uint64_t *ret_value);

/* Writes a limit of bytes to a file; none is what stands for UINT64_MAX, no limit. 0 or -errno. */
int cgroup_write_limit(int dir_fd, const char *file, uint64_t bytes, const char *none);

/*
 * The folder of this process in the hierarchy of a controller, as in
 * /proc/self/cgroup; "" names cgroup v2. 0, -ENOENT, or -errno.
 */
int cgroup_own_path(const char *controller, char *ret_path, size_t size);

#endif
