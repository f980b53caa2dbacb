/*
 * resources.h - memory and CPU time of a session's cells, measured and bounded by control groups.
 *
 * A session has two groups: one for its cells and the images they leave, one
 * for what runs aside. A cell has no memory group of its own, because the pages
 * that it leaves in the image would keep that group alive for as long as they
 * live; what a cell holds is what its group holds more than at its start.
 *
 * Where no group can be had, processes are watched instead (watcher.h).
 *
 * See: cgroup-v1/memory.rst, cgroup-v2.rst, cgroups(7).
 */
#ifndef PETRI_SANDBOX_RESOURCES_H
#define PETRI_SANDBOX_RESOURCES_H

#include "sandbox.h"

#include <sys/types.h>

/* What a group says. memory_bytes leaves out what can be taken back at once (clean cache of files). */
struct resources_reading {
    uint64_t memory_bytes;
    uint64_t cpu_us;
    uint64_t oom_kills;
};

/* A way to have groups. */
struct resources_backend {
    const char *name; /* as the report names it */

    /* Makes the two groups, named after the process. 0 or -errno: this way is not to be had here. */
    int (*open)(const char *name, struct resources_group *ret_cells, struct resources_group *ret_asides);

    /* Removes what open made, once it is empty. */
    void (*remove)(const char *name);

    /* Bounds a group's memory; UINT64_MAX for no bound. 0 or -errno. */
    int (*limit_memory)(const struct resources_group *group, uint64_t bytes);

    int (*read)(const struct resources_group *group, struct resources_reading *ret_reading);
};

extern const struct resources_backend resources_v1;
extern const struct resources_backend resources_v2;

/* The name of this process' groups. */
void resources_name(char *buf, size_t size);

/* Finds a backend for this process and makes its groups; NULL, and groups of -1, where there is none. */
const struct resources_backend *resources_find(struct resources_group *ret_cells, struct resources_group *ret_asides);

/* Moves a process into a group, with all its threads. 0 or -errno. */
int resources_join(const struct resources_group *group, pid_t pid);

/* Reads "KEY VALUE" from a file of such lines below dir_fd. 0, -ENOENT where no line has the key, or -errno. */
int resources_read_key(int dir_fd, const char *file, const char *key, uint64_t *ret_value);

/* The same for several keys of one file, which is read once: these files are made anew at each reading. */
int resources_read_keys(int dir_fd, const char *file, const char *const *keys, uint64_t *ret_values, size_t n);

/* Reads a file that is one number. 0 or -errno. */
int resources_read_number(int dir_fd, const char *file, uint64_t *ret_value);

/*
 * The folder of this process in the hierarchy of a controller, as in
 * /proc/self/cgroup; "" names cgroup v2. 0, -ENOENT, or -errno.
 */
int resources_own_path(const char *controller, char *ret_path, size_t size);

#endif
