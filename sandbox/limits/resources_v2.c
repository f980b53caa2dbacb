/*
 * resources_v2.c - control groups, version 2: one tree.
 *
 * A group of ours must be free of processes before it may have controllers for
 * the groups below it, so this process moves into one below: the group that it
 * was started in must be its own. Where it isn't, systemd is asked for one.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/base/difference.h"
#include "sandbox/base/system.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/limits/common.h"
#include "sandbox/limits/delegate.h"
#include "sandbox/limits/resources_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static const char *const mounted_at[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
static const char *const roles[] = {"cells", "ephemeral", "kernel"};

/* The folder of the group that we were started in. After open() it is the parent of the group that we are in. */
static int own_folder(char path[PATH_MAX]) {
    char own[PATH_MAX];
    int r = cgroup_own_path("", own, sizeof own);
    for (size_t i = 0; r == 0 && i < sizeof mounted_at / sizeof mounted_at[0]; i++) {
        char probe[PATH_MAX + 32];
        int n = snprintf(path, PATH_MAX, "%s%s", mounted_at[i], own);
        if (n >= PATH_MAX)
            return -ENAMETOOLONG;
        snprintf(probe, sizeof probe, "%s/cgroup.controllers", path);
        if (access(probe, F_OK) == 0)
            return 0;
    }
    return r ? r : -ENOENT;
}

static int make_group(int parent_fd, const char *name, const char *role) {
    char folder[128];
    snprintf(folder, sizeof folder, "%s-%s", name, role);
    return cgroup_make(parent_fd, folder);
}

/*
 * Moves this process back and removes the groups; the parent takes processes again
 * once it has no controllers for the groups below. What can't be undone here goes
 * away with the parent.
 */
static void leave_groups(int parent_fd, const char *name) {
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        char folder[128];
        bool was_ours = strcmp(roles[i], "kernel") == 0;
        snprintf(folder, sizeof folder, "%s-%s", name, roles[i]);
        if (was_ours && (system_write_file(parent_fd, "cgroup.subtree_control", "-memory") ||
                         system_write_file(parent_fd, "cgroup.procs", "0")))
            continue;
        unlinkat(parent_fd, folder, AT_REMOVEDIR);
        common_remove(parent_fd, folder);
    }
}

/* Called in the process that was moved, so the path of its own group ends in the group "kernel". */
static void v2_remove(const char *name) {
    char path[PATH_MAX], own[128];
    if (own_folder(path))
        return;
    snprintf(own, sizeof own, "/%s-kernel", name);
    size_t n = strlen(path), m = strlen(own);
    if (n > m && strcmp(path + n - m, own) == 0)
        path[n - m] = 0;
    auto_fd parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent_fd >= 0)
        leave_groups(parent_fd, name);
}

/* Moves this process into a group below, for a group with processes can't have controllers; then turns the memory
 * controller on for the groups below. Not all have the one for processes: without it these are not bounded. */
static int divide(int parent_fd, const char *name, const struct sandbox_bounds *bounds) {
    auto_fd kernel_fd = make_group(parent_fd, name, "kernel");
    int r = kernel_fd < 0 ? kernel_fd : system_write_file(kernel_fd, "cgroup.procs", "0");
    if (r == 0)
        r = system_write_file(parent_fd, "cgroup.subtree_control", "+memory");
    if (r == 0 && bounds->processes)
        (void)system_write_file(parent_fd, "cgroup.subtree_control", "+pids");
    return r;
}

/* Where the common group is. */
enum common { COMMON_NONE, COMMON_BELOW, COMMON_ABOVE };

/* One of the two groups, below the common one where that is below. */
static int make_cells(int parent_fd, const char *name, const char *role, enum common common,
                      struct sandbox_host *host) {
    char folder[128];
    int common_fd;
    if (common != COMMON_BELOW)
        return make_group(parent_fd, name, role);
    snprintf(folder, sizeof folder, "%s-%s", name, role);
    int fd = common_make(parent_fd, folder, &common_fd);
    if (fd < 0)
        return fd;
    close_fd(&host->common_fd);
    host->common_fd = common_fd;
    int r = system_write_file(common_fd, "cgroup.subtree_control", "+memory");
    if (r == 0)
        return fd;
    close(fd);
    return r;
}

static void set_bounds(int parent_fd, const struct sandbox_bounds *bounds, enum common common,
                       struct sandbox_host *host) {
    if (common == COMMON_ABOVE)
        host->common_fd = openat(parent_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (common == COMMON_BELOW)
        host->bounded = (struct sandbox_bounds){common_bound(host->common_fd, "memory.max", bounds->memory_bytes),
                                                common_bound(host->common_fd, "pids.max", bounds->processes)};
    else /* systemd was asked to set them */
        host->bounded = (struct sandbox_bounds){common_held(host->common_fd, "memory.max", bounds->memory_bytes),
                                                common_held(host->common_fd, "pids.max", bounds->processes)};
}

/* Divides the group that we are in. */
static int open_here(const char *name, const struct sandbox_bounds *bounds, enum common common,
                     struct sandbox_host *ret_host) {
    char path[PATH_MAX];
    struct sandbox_host host = {.common_fd = -1};
    int r = own_folder(path);
    if (r)
        return r;
    auto_fd parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent_fd < 0)
        return -errno;
    char controllers[256];
    if (system_read_file(parent_fd, "cgroup.controllers", controllers, sizeof controllers) < 0 ||
        !strstr(controllers, "memory"))
        return -ENOTSUP;
    if (common == COMMON_BELOW)
        common_sweep(parent_fd);
    r = divide(parent_fd, name, bounds);
    auto_fd cells_fd = r == 0 ? make_cells(parent_fd, name, "cells", common, &host) : -1;
    auto_fd ephemeral_fd = r == 0 ? make_cells(parent_fd, name, "ephemeral", common, &host) : -1;
    if (r == 0 && cells_fd >= 0 && ephemeral_fd >= 0 && faccessat(cells_fd, "memory.max", W_OK, 0) == 0) {
        int cells = steal_fd(&cells_fd), ephemeral = steal_fd(&ephemeral_fd);
        set_bounds(parent_fd, bounds, common, &host);
        ret_host->cells = (struct resources_group){cells, cells, -1};
        ret_host->ephemeral = (struct resources_group){ephemeral, ephemeral, -1};
        ret_host->common_fd = host.common_fd;
        ret_host->bounded = host.bounded;
        return 0;
    }
    close_fd(&host.common_fd);
    leave_groups(parent_fd, name);
    return r ? r : -ENOTSUP;
}

/* Whether version 2 is what has the memory controller here, and not version 1. */
static bool has_memory(void) {
    char controllers[256];
    return system_read_file(AT_FDCWD, "/sys/fs/cgroup/cgroup.controllers", controllers, sizeof controllers) > 0 &&
           strstr(controllers, "memory");
}

/*
 * With bounds systemd comes first: its scopes are in one slice, whichever group
 * their kernels were started in. Without a common group there still are the others.
 */
static int v2_open(const char *name, const struct sandbox_bounds *bounds, struct sandbox_host *ret_host) {
    const bool wants_common = bounds->memory_bytes || bounds->processes;
    int r = wants_common ? -ENOENT : open_here(name, bounds, COMMON_NONE, ret_host);
    if (r && has_memory() && delegate_scope(bounds) == 0)
        return open_here(name, bounds, wants_common ? COMMON_ABOVE : COMMON_NONE, ret_host);
    if (wants_common)
        r = open_here(name, bounds, COMMON_BELOW, ret_host);
    return r && wants_common ? open_here(name, bounds, COMMON_NONE, ret_host) : r;
}

static int v2_limit_memory(const struct resources_group *group, uint64_t bytes) {
    int r = cgroup_write_limit(group->memory_fd, "memory.max", bytes, "max");
    int swap = system_write_file(group->memory_fd, "memory.swap.max", "0");
    return r ? r : (swap == -ENOENT ? 0 : swap);
}

static int v2_read(const struct resources_group *group, struct resources_reading *ret_reading) {
    struct resources_reading reading = {0};
    uint64_t file = 0, shared = 0;
    int r = cgroup_read_number(group->memory_fd, "memory.current", &reading.memory_bytes);
    if (r == 0)
        r = cgroup_read_key(group->memory_fd, "memory.stat", "file", &file);
    if (r == 0)
        r = cgroup_read_key(group->memory_fd, "memory.stat", "shmem", &shared);
    if (r == 0)
        r = cgroup_read_key(group->memory_fd, "memory.events", "oom_kill", &reading.oom_kills);
    if (r == 0)
        r = cgroup_read_key(group->cpu_fd, "cpu.stat", "usage_usec", &reading.cpu_us);
    if (r)
        return r;
    uint64_t cache = positive_difference(file, shared);
    reading.memory_bytes = positive_difference(reading.memory_bytes, cache);
    *ret_reading = reading;
    return 0;
}

/* "oom" counts at the group whose limit was reached; of the common one, which has others below it, alone. */
static void v2_read_hits(const struct resources_group *group, int common_fd, struct resources_hits *ret_hits) {
    *ret_hits = (struct resources_hits){0};
    (void)cgroup_read_key(group->memory_fd, "memory.events", "oom", &ret_hits->own);
    if (common_fd >= 0)
        (void)cgroup_read_key(common_fd, "memory.events.local", "oom", &ret_hits->common);
}

const struct resources_backend resources_v2 = {
    .name = "cgroup v2",
    .open = v2_open,
    .remove = v2_remove,
    .limit_memory = v2_limit_memory,
    .read = v2_read,
    .read_hits = v2_read_hits,
};
