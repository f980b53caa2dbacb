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

/* The group that this process moves into. */
static void name_kernel(const char *name, char folder[RESOURCES_NAME_BYTES]) {
    snprintf(folder, RESOURCES_NAME_BYTES, "%s-kernel", name);
}

/*
 * Moves this process back and removes the groups; the parent takes processes again
 * once it has no controllers for the groups below. What can't be undone here goes
 * away with the parent.
 */
static void leave_groups(int parent_fd, const char *name) {
    char folder[RESOURCES_NAME_BYTES];
    for (unsigned i = 0; i < SANDBOX_GROUPS; i++) {
        resources_group_name(name, i, folder);
        unlinkat(parent_fd, folder, AT_REMOVEDIR);
        common_remove(parent_fd, folder);
    }
    if (system_write_file(parent_fd, "cgroup.subtree_control", "-memory") ||
        system_write_file(parent_fd, "cgroup.procs", "0"))
        return;
    name_kernel(name, folder);
    unlinkat(parent_fd, folder, AT_REMOVEDIR);
}

/* Called in the process that was moved, so the path of its own group ends in the group "kernel". */
static void v2_remove(const char *name) {
    char path[PATH_MAX], own[RESOURCES_NAME_BYTES];
    if (own_folder(path))
        return;
    name_kernel(name, own);
    char *last = strrchr(path, '/');
    if (last && strcmp(last + 1, own) == 0)
        *last = 0;
    auto_fd parent_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent_fd >= 0)
        leave_groups(parent_fd, name);
}

/* Moves this process into a group below, for a group with processes can't have controllers; then turns the memory
 * controller on for the groups below. Not all have the one for processes: without it these are not bounded. */
static int divide(int parent_fd, const char *name, const struct sandbox_bounds *bounds) {
    char folder[RESOURCES_NAME_BYTES];
    name_kernel(name, folder);
    auto_fd kernel_fd = cgroup_make(parent_fd, folder);
    int r = kernel_fd < 0 ? kernel_fd : system_write_file(kernel_fd, "cgroup.procs", "0");
    if (r == 0)
        r = system_write_file(parent_fd, "cgroup.subtree_control", "+memory");
    if (r == 0 && bounds->processes)
        (void)system_write_file(parent_fd, "cgroup.subtree_control", "+pids");
    return r;
}

/* Where the common group is. */
enum common { COMMON_NONE, COMMON_BELOW, COMMON_ABOVE };

/* A group for cells, below the common one where that is below. */
static int make_cells(int parent_fd, const char *folder, enum common common, struct sandbox_host *host) {
    int common_fd;
    if (common != COMMON_BELOW)
        return cgroup_make(parent_fd, folder);
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

/* All groups for cells, or none. */
static int open_groups(int parent_fd, const char *name, unsigned n, enum common common, struct sandbox_host *host) {
    char folder[RESOURCES_NAME_BYTES];
    int r = 0;
    for (unsigned i = 0; r == 0 && i < n; i++) {
        resources_group_name(name, i, folder);
        int fd = make_cells(parent_fd, folder, common, host);
        host->groups[i] = (struct resources_group){fd, fd, -1};
        r = fd < 0 ? fd : faccessat(fd, "memory.max", W_OK, 0) ? -ENOTSUP : 0;
        if (r)
            resources_close(host, i + 1);
    }
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
static int open_here(const char *name, unsigned n_groups, const struct sandbox_bounds *bounds, enum common common,
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
    if (r == 0)
        r = open_groups(parent_fd, name, n_groups, common, &host);
    if (r) {
        close_fd(&host.common_fd);
        leave_groups(parent_fd, name);
        return r;
    }
    set_bounds(parent_fd, bounds, common, &host);
    memcpy(ret_host->groups, host.groups, n_groups * sizeof host.groups[0]);
    ret_host->common_fd = host.common_fd;
    ret_host->bounded = host.bounded;
    return 0;
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
static int v2_open(const char *name, unsigned n_groups, const struct sandbox_bounds *bounds,
                   struct sandbox_host *ret_host) {
    const bool wants_common = bounds->memory_bytes || bounds->processes;
    int r = wants_common ? -ENOENT : open_here(name, n_groups, bounds, COMMON_NONE, ret_host);
    if (r && has_memory() && delegate_scope(bounds) == 0)
        return open_here(name, n_groups, bounds, wants_common ? COMMON_ABOVE : COMMON_NONE, ret_host);
    if (wants_common)
        r = open_here(name, n_groups, bounds, COMMON_BELOW, ret_host);
    return r && wants_common ? open_here(name, n_groups, bounds, COMMON_NONE, ret_host) : r;
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

static int v2_read_anonymous(const struct resources_group *group, uint64_t *ret_bytes) {
    return cgroup_read_key(group->memory_fd, "memory.stat", "anon", ret_bytes);
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
    .read_anonymous = v2_read_anonymous,
    .read_hits = v2_read_hits,
};
