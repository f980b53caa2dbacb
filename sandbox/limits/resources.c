/*
 * resources.c - chooses between the two versions of control groups: the first that can make groups here.
 *
 * Version 2 comes first: where both are mounted its memory controller is missing,
 * and then it fails.
 */
#define _GNU_SOURCE
#include "resources.h"

#include "sandbox/base/system.h"

#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void resources_name(char *buf, size_t size) {
    struct stat st = {0};
    /* With the number of its pid namespace: a group's folder may be seen from several, a pid is known in one. */
    if (stat("/proc/self/ns/pid", &st))
        st.st_ino = 0;
    snprintf(buf, size, "petri-%lu-%d", (unsigned long)st.st_ino, getpid());
}

/* A place for each processor that this process may use, and one more: one is not free before the sandbox that had it
 * is gone. */
static unsigned count_places(void) {
    cpu_set_t ours;
    unsigned n = sched_getaffinity(0, sizeof ours, &ours) ? 1 : (unsigned)CPU_COUNT(&ours);
    return n < SANDBOX_BESIDE_MAX ? n + 1 : SANDBOX_BESIDE_MAX;
}

const struct resources_backend *resources_find(const struct sandbox_bounds *bounds, struct sandbox_host *ret_host) {
    static const struct resources_backend *const backends[] = {&resources_v2, &resources_v1};
    char name[64];
    resources_name(name, sizeof name);
    ret_host->common_fd = -1;
    ret_host->bounded = (struct sandbox_bounds){0};
    ret_host->n_beside = count_places();
    for (size_t i = 0; i < SANDBOX_GROUPS; i++)
        ret_host->groups[i] = (struct resources_group){-1, -1, -1};
    for (size_t i = 0; i < sizeof backends / sizeof backends[0]; i++)
        if (backends[i]->open(name, SANDBOX_BESIDE + ret_host->n_beside, bounds, ret_host) == 0)
            return backends[i];
    return NULL;
}

int resources_join(const struct resources_group *group, pid_t pid) {
    char text[24];
    snprintf(text, sizeof text, "%d", pid);
    int r = group->memory_fd < 0 ? 0 : system_write_file(group->memory_fd, "cgroup.procs", text);
    if (r == 0 && group->cpu_fd >= 0 && group->cpu_fd != group->memory_fd)
        r = system_write_file(group->cpu_fd, "cgroup.procs", text);
    if (r == 0 && group->pids_fd >= 0)
        r = system_write_file(group->pids_fd, "cgroup.procs", text);
    return r;
}
