/*
 * machine.c - the minimum of /proc/meminfo and of each control group that this process is in.
 *
 * With version 2 each group on the path up to the root may have its own limit, so
 * all of them are read; with version 1 a group has the limit of its whole
 * hierarchy. Inside a container the path may not be mounted, and the folder of
 * the file system may be the group itself, so both are read. A file that can't be
 * read sets no limit.
 */

#define _GNU_SOURCE
#include "machine.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

__attribute__((format(printf, 1, 2))) static FILE *open_file(const char *format, ...) {
    char path[PATH_MAX];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(path, sizeof path, format, args);
    va_end(args);
    return n < (int)sizeof path ? fopen(path, "re") : NULL;
}

/*
 * The number after the name in a line of the file, times unit. False where
 * there is none, or it does not fit into int64_t.
 */
static bool find_number(FILE *file, const char *name, int64_t unit, int64_t *ret) {
    char line[256];
    const size_t n = strlen(name);
    uint64_t number;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, n) == 0)
            return sscanf(line + n, "%" SCNu64, &number) == 1 && number <= (uint64_t)(INT64_MAX / unit) &&
                   (*ret = (int64_t)number * unit, true);
    return false;
}

static void lower(int64_t *value, int64_t most) {
    if (most < *value)
        *value = most;
}

/*
 * Applies a group's limit, and what it leaves available. Pages that Linux
 * could reclaim count as held, which is a safe estimate.
 */
static void lower_to_group(struct machine_memory *memory, int64_t limit, int64_t held) {
    lower(&memory->total, limit);
    lower(&memory->available, limit > held ? limit - held : 0);
}

/* Applies the limit of each group on the path up to the root. */
static void apply_v2(struct machine_memory *memory, const char *root, const char *group) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", group);
    for (char *end = path;; *end = 0) {
        int64_t limit, held;
        auto_file max = open_file("%s/sys/fs/cgroup%s/memory.max", root, path);
        auto_file current = open_file("%s/sys/fs/cgroup%s/memory.current", root, path);
        if (find_number(max, "", 1, &limit) && find_number(current, "", 1, &held))
            lower_to_group(memory, limit, held);
        end = strrchr(path, '/');
        if (!end)
            return;
    }
}

static void apply_v1(struct machine_memory *memory, const char *root, const char *group) {
    int64_t limit, held;
    auto_file stat = open_file("%s/sys/fs/cgroup/memory%s/memory.stat", root, group);
    auto_file usage = open_file("%s/sys/fs/cgroup/memory%s/memory.usage_in_bytes", root, group);
    if (find_number(stat, "hierarchical_memory_limit ", 1, &limit) && find_number(usage, "", 1, &held))
        lower_to_group(memory, limit, held);
}

/* A line of proc_pid_cgroup(5), "0::/group" or "9:memory:/group". In a container the folder may show the group itself.
 */
static void apply_line(struct machine_memory *memory, const char *root, const char *line) {
    char group[PATH_MAX];
    if (sscanf(line, "0::%4095s", group) == 1) {
        apply_v2(memory, root, group);
    } else if (sscanf(line, "%*d:memory:%4095s", group) == 1) {
        apply_v1(memory, root, group);
        apply_v1(memory, root, "");
    }
}

struct machine_memory machine_memory(const char *root) {
    struct machine_memory memory = {INT64_MAX, INT64_MAX};
    char line[PATH_MAX + 64];
    auto_file total = open_file("%s/proc/meminfo", root);
    auto_file available = open_file("%s/proc/meminfo", root);
    auto_file groups = open_file("%s/proc/self/cgroup", root);
    (void)find_number(total, "MemTotal:", 1024, &memory.total);
    (void)find_number(available, "MemAvailable:", 1024, &memory.available);
    while (groups && fgets(line, sizeof line, groups))
        apply_line(&memory, root, line);
    return memory;
}
