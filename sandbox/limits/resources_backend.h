/*
 * resources_backend.h - the ways to have control groups: one a version of them.
 */
#ifndef PETRI_SANDBOX_RESOURCES_BACKEND_H
#define PETRI_SANDBOX_RESOURCES_BACKEND_H

#include "base/cleanup.h"
#include "sandbox/sandbox.h"

#include <stdio.h>

/* What a group says. memory_bytes leaves out what can be taken back at once (clean cache of files). */
struct resources_reading {
    uint64_t memory_bytes;
    uint64_t cpu_us;
    uint64_t oom_kills;
};

/* How often a group has reached its own limit of memory, and the common group its bound. */
struct resources_hits {
    uint64_t own;
    uint64_t common;
};

/* A way to have groups. */
struct resources_backend {
    const char *name; /* as the report names it */

    /*
     * Makes the groups, named after the process, and the common one where there are bounds
     * (common.h): n_groups of enum sandbox_group. Sets groups, common_fd and bounded of
     * ret_host. 0 or -errno: this way is not to be had here. Bounds that can't be had are no error.
     */
    int (*open)(const char *name, unsigned n_groups, const struct sandbox_bounds *bounds,
                struct sandbox_host *ret_host);

    /* Removes what open made, once it is empty. */
    void (*remove)(const char *name);

    /* Bounds a group's memory; UINT64_MAX for no bound. 0 or -errno. */
    int (*limit_memory)(const struct resources_group *group, uint64_t bytes);

    int (*read)(const struct resources_group *group, struct resources_reading *ret_reading);

    /* The anonymous memory that is charged to the group, whichever processes have it by now: each page once. */
    int (*read_anonymous)(const struct resources_group *group, uint64_t *ret_bytes);

    /* common_fd may be -1. What can't be read is 0. */
    void (*read_hits)(const struct resources_group *group, int common_fd, struct resources_hits *ret_hits);
};

enum { RESOURCES_NAME_BYTES = 128 };

/* What the group is called, of the process whose groups have this name: "NAME-cells", "NAME-beside-3". */
static inline void resources_group_name(const char *name, unsigned group, char buf[RESOURCES_NAME_BYTES]) {
    if (group < SANDBOX_BESIDE)
        snprintf(buf, RESOURCES_NAME_BYTES, "%s-%s", name, group == SANDBOX_CELLS ? "cells" : "ephemeral");
    else
        snprintf(buf, RESOURCES_NAME_BYTES, "%s-beside-%u", name, group - SANDBOX_BESIDE);
}

/* Closes the first n groups' descriptors. */
static inline void resources_close(struct sandbox_host *host, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (host->groups[i].cpu_fd != host->groups[i].memory_fd)
            close_fd(&host->groups[i].cpu_fd);
        close_fd(&host->groups[i].memory_fd);
    }
}

extern const struct resources_backend resources_v1;
extern const struct resources_backend resources_v2;

#endif
