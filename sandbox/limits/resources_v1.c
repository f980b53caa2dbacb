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
#include "sandbox/limits/resources_backend.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define ROOT "/sys/fs/cgroup"

static const char *const roles[] = {"cells", "ephemeral"};
static const char *const controllers[] = {"memory", "cpuacct"};
enum { N_CONTROLLERS = sizeof controllers / sizeof controllers[0] };

static int group_path(const char *controller, const char *name, const char *role, char path[PATH_MAX]) {
    char own[PATH_MAX];
    int r = cgroup_own_path(controller, own, sizeof own);
    if (r)
        return r;
    int n = snprintf(path, PATH_MAX, ROOT "/%s%s/%s-%s", controller, strcmp(own, "/") ? own : "", name, role);
    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static int make_group(const char *controller, const char *name, const char *role) {
    char path[PATH_MAX];
    int r = group_path(controller, name, role, path);
    if (r)
        return r;
    if (mkdir(path, 0755) && errno != EEXIST)
        return -errno;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static void v1_remove(const char *name) {
    char path[PATH_MAX];
    for (int i = 0; i < N_CONTROLLERS; i++)
        for (size_t j = 0; j < sizeof roles / sizeof roles[0]; j++)
            if (group_path(controllers[i], name, roles[j], path) == 0)
                rmdir(path);
}

/* Removes the groups of kernels that are dead: the process that should have removed them was killed, too. */
static void sweep(const char *controller) {
    char path[PATH_MAX];
    if (group_path(controller, "petri", "x", path))
        return;
    *strrchr(path, '/') = 0;
    auto_dir dir = opendir(path);
    struct dirent *entry;
    struct stat st;
    while (dir && stat("/proc/self/ns/pid", &st) == 0 && (entry = readdir(dir))) {
        unsigned long namespace = 0;
        int pid = 0, end = 0;
        if (sscanf(entry->d_name, "petri-%lu-%d-%n", &namespace, &pid, &end) == 2 && end > 0 &&
            namespace == st.st_ino && kill(pid, 0) && errno == ESRCH)
            unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
    }
}

static int open_group(const char *name, const char *role, struct resources_group *ret_group) {
    auto_fd memory_fd = make_group("memory", name, role);
    if (memory_fd < 0)
        return memory_fd;
    auto_fd cpu_fd = make_group("cpuacct", name, role);
    if (cpu_fd < 0)
        return cpu_fd;
    *ret_group = (struct resources_group){steal_fd(&memory_fd), steal_fd(&cpu_fd)};
    return 0;
}

static int v1_open(const char *name, struct resources_group *ret_cells, struct resources_group *ret_ephemeral) {
    struct resources_group cells;
    for (int i = 0; i < N_CONTROLLERS; i++)
        sweep(controllers[i]);
    int r = open_group(name, "cells", &cells);
    if (r == 0) {
        r = open_group(name, "ephemeral", ret_ephemeral);
        if (r == 0) {
            *ret_cells = cells;
            return 0;
        }
        close(cells.memory_fd);
        close(cells.cpu_fd);
    }
    v1_remove(name);
    return r;
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

const struct resources_backend resources_v1 = {
    .name = "cgroup v1",
    .open = v1_open,
    .remove = v1_remove,
    .limit_memory = v1_limit_memory,
    .read = v1_read,
};
