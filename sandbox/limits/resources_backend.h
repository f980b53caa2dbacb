/*
 * resources_backend.h - the ways to have control groups: one a version of them.
 */
#ifndef PETRI_SANDBOX_RESOURCES_BACKEND_H
#define PETRI_SANDBOX_RESOURCES_BACKEND_H

#include "sandbox/sandbox.h"

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
    int (*open)(const char *name, struct resources_group *ret_cells, struct resources_group *ret_ephemeral);

    /* Removes what open made, once it is empty. */
    void (*remove)(const char *name);

    /* Bounds a group's memory; UINT64_MAX for no bound. 0 or -errno. */
    int (*limit_memory)(const struct resources_group *group, uint64_t bytes);

    int (*read)(const struct resources_group *group, struct resources_reading *ret_reading);
};

extern const struct resources_backend resources_v1;
extern const struct resources_backend resources_v2;

#endif
