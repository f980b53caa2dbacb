/*
 * resources_v1.c - control groups, version 1: one folder a controller.
 *
 * Only root may make them; systemd delegates none. Groups have the pid namespace and
 * the pid of their kernel in their names, so the groups of a kernel that was killed
 * are recognized and removed by the next one.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/base/difference.h"
#include "sandbox/limits/cgroup.h"
#include "sandbox/limits/common.h"
#include "sandbox/limits/resources_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define ROOT "/sys/fs/cgroup"

static const char *const controllers[] = {"memory", "cpuacct", "pids"};
enum { N_CONTROLLERS = sizeof controllers / sizeof controllers[0] };

/* The group that this process is in, of a controller. */
static int open_parent(const char *controller) {
    char own[PATH_MAX], path[PATH_MAX];
    int r = cgroup_own_path(controller, own, sizeof own);
    if (r)
        return r;
    int n = snprintf(path, sizeof path, ROOT "/%s%s", controller, own);
    if (n >= (int)sizeof path)
        return -ENAMETOOLONG;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* The group that counts the processes of all the session's groups. */
static void name_all(const char *name, char group[RESOURCES_NAME_BYTES]) {
    snprintf(group, RESOURCES_NAME_BYTES, "%s-all", name);
}

/* It may be in either place: below the common group, or beside where it would be. */
static void remove_group(int parent_fd, const char *group) {
    unlinkat(parent_fd, group, AT_REMOVEDIR);
    common_remove(parent_fd, group);
}

static void v1_remove(const char *name) {
    char group[RESOURCES_NAME_BYTES];
    for (int i = 0; i < N_CONTROLLERS; i++) {
        auto_fd parent_fd = open_parent(controllers[i]);
        for (unsigned j = 0; parent_fd >= 0 && j < SANDBOX_GROUPS; j++) {
            resources_group_name(name, j, group);
            remove_group(parent_fd, group);
        }
        name_all(name, group);
        if (parent_fd >= 0)
            remove_group(parent_fd, group);
    }
}

static void sweep(const char *controller) {
    auto_fd parent_fd = open_parent(controller);
    if (parent_fd >= 0)
        common_sweep(parent_fd);
}

/* Below the common group, and its bound set; or -errno. */
static int make_bounded(int parent_fd, const char *group, uint64_t bytes, struct sandbox_host *host) {
    int common_fd;
    int fd = common_make(parent_fd, group, &common_fd);
    if (fd < 0)
        return fd;
    close_fd(&host->common_fd);
    host->common_fd = common_fd;
    host->bounded.memory_bytes = common_bound(common_fd, "memory.limit_in_bytes", bytes);
    return fd;
}

/* Where groups are made, of the two controllers that all have. */
struct parents {
    int memory_fd, cpu_fd;
};

static int open_memory(int parent_fd, const char *group, uint64_t bound, struct sandbox_host *host) {
    int fd = bound ? make_bounded(parent_fd, group, bound, host) : -ENOENT;
    return fd < 0 ? cgroup_make(parent_fd, group) : fd;
}

static int open_group(const struct parents *parents, const char *group, uint64_t bound, struct sandbox_host *host,
                      struct resources_group *ret_group) {
    auto_fd memory_fd = open_memory(parents->memory_fd, group, bound, host);
    if (memory_fd < 0)
        return memory_fd;
    auto_fd cpu_fd = cgroup_make(parents->cpu_fd, group);
    if (cpu_fd < 0)
        return cpu_fd;
    *ret_group = (struct resources_group){steal_fd(&memory_fd), steal_fd(&cpu_fd), -1};
    return 0;
}

/* All groups, or none. */
static int open_groups(const char *name, unsigned n, uint64_t bound, struct sandbox_host *host) {
    char group[RESOURCES_NAME_BYTES];
    auto_fd memory_fd = open_parent("memory");
    auto_fd cpu_fd = memory_fd < 0 ? memory_fd : open_parent("cpuacct");
    const struct parents parents = {memory_fd, cpu_fd};
    int r = cpu_fd < 0 ? cpu_fd : 0;
    for (unsigned i = 0; r == 0 && i < n; i++) {
        resources_group_name(name, i, group);
        r = open_group(&parents, group, bound, host, &host->groups[i]);
        if (r)
            resources_close(host, i);
    }
    return r;
}

/* A group that counts the session's processes with those of all others; without one they are not bounded. */
static void bound_processes(const char *name, unsigned n, uint64_t bound, struct sandbox_host *host) {
    char group[RESOURCES_NAME_BYTES];
    int common_fd;
    auto_fd parent_fd = bound ? open_parent("pids") : -1;
    name_all(name, group);
    int fd = parent_fd < 0 ? -1 : common_make(parent_fd, group, &common_fd);
    if (fd < 0)
        return;
    host->bounded.processes = common_bound(common_fd, "pids.max", bound);
    close(common_fd);
    for (unsigned i = 0; i < n; i++)
        host->groups[i].pids_fd = fd;
}

static int v1_open(const char *name, unsigned n_groups, const struct sandbox_bounds *bounds,
                   struct sandbox_host *ret_host) {
    struct sandbox_host host = {.common_fd = -1};
    for (int i = 0; i < N_CONTROLLERS; i++)
        sweep(controllers[i]);
    int r = open_groups(name, n_groups, bounds->memory_bytes, &host);
    if (r) {
        close_fd(&host.common_fd);
        v1_remove(name);
        return r;
    }
    bound_processes(name, n_groups, bounds->processes, &host);
    memcpy(ret_host->groups, host.groups, n_groups * sizeof host.groups[0]);
    ret_host->common_fd = host.common_fd;
    ret_host->bounded = host.bounded;
    return 0;
}

static int v1_limit_memory(const struct resources_group *group, uint64_t bytes) {
    return cgroup_write_limit(group->memory_fd, "memory.limit_in_bytes", bytes, "-1");
}

static int v1_read(const struct resources_group *group, struct resources_reading *ret_reading) {
    struct resources_reading reading = {0};
    static const char *const keys[] = {"total_cache", "total_shmem"};
    uint64_t stat[2] = {0, 0}, cpu_ns = 0;
    int r = cgroup_read_number(group->memory_fd, "memory.usage_in_bytes", &reading.memory_bytes);
    if (r == 0)
        r = cgroup_read_keys(group->memory_fd, "memory.stat", keys, stat, 2);
    if (r == 0)
        r = cgroup_read_key(group->memory_fd, "memory.oom_control", "oom_kill", &reading.oom_kills);
    if (r == 0)
        r = cgroup_read_number(group->cpu_fd, "cpuacct.usage", &cpu_ns);
    if (r)
        return r;
    uint64_t file_cache = positive_difference(stat[0], stat[1]);
    reading.memory_bytes = positive_difference(reading.memory_bytes, file_cache);
    reading.cpu_us = cpu_ns / 1000;
    *ret_reading = reading;
    return 0;
}

static int v1_read_anonymous(const struct resources_group *group, uint64_t *ret_bytes) {
    return cgroup_read_key(group->memory_fd, "memory.stat", "total_rss", ret_bytes);
}

/* Each charge that fails at a group's limit counts there, and there alone. */
static void v1_read_hits(const struct resources_group *group, int common_fd, struct resources_hits *ret_hits) {
    *ret_hits = (struct resources_hits){0};
    (void)cgroup_read_number(group->memory_fd, "memory.failcnt", &ret_hits->own);
    if (common_fd >= 0)
        (void)cgroup_read_number(common_fd, "memory.failcnt", &ret_hits->common);
}

const struct resources_backend resources_v1 = {
    .name = "cgroup v1",
    .open = v1_open,
    .remove = v1_remove,
    .limit_memory = v1_limit_memory,
    .read = v1_read,
    .read_anonymous = v1_read_anonymous,
    .read_hits = v1_read_hits,
};
