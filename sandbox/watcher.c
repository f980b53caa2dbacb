#define _GNU_SOURCE
#include "watcher.h"

#include "cleanup.h"
#include "system.h"

#include <fcntl.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

/* The value in kB of a line "KEY:   N kB". */
static uint64_t kilobytes(const char *text, const char *key) {
    const char *line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static void read_status(pid_t pid, struct watcher_reading *reading) {
    char path[32], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return;
    reading->memory_bytes += 1024 * (kilobytes(text, "\nRssAnon:") + kilobytes(text, "\nRssShmem:"));
    reading->tasks += (unsigned)kilobytes(text, "\nThreads:");
}

/* Fields 14 to 17: utime, stime, cutime, cstime, in ticks. */
static void read_times(pid_t pid, struct watcher_reading *reading) {
    char path[32], text[1024];
    unsigned long long user, system, children_user, children_system;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return;
    const char *rest = strrchr(text, ')');
    if (rest && sscanf(rest + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu %llu %llu", &user, &system,
                       &children_user, &children_system) == 4)
        reading->cpu_us +=
            (user + system + children_user + children_system) * 1000000 / (unsigned long long)sysconf(_SC_CLK_TCK);
}

void watcher_read(pid_t pid, struct watcher_reading *reading) {
    read_status(pid, reading);
    read_times(pid, reading);
}

uint64_t watcher_read_written(pid_t pid, int alone) {
    char path[40], text[4096];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return 0;
    if (alone)
        return 1024 * (kilobytes(text, "\nPrivate_Dirty:") + kilobytes(text, "\nPss_Shmem:"));
    return 1024 * (kilobytes(text, "\nPss_Anon:") + kilobytes(text, "\nPss_Shmem:"));
}

static void visit_below(pid_t pid, void (*visit)(pid_t pid, void *context), void *context, int depth) {
    char path[64], line[8192];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    auto_dir dir = opendir(path);
    struct dirent *entry;
    while (dir && depth < MAX_DEPTH && (entry = readdir(dir))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", pid, entry->d_name);
        if (system_read_file(AT_FDCWD, path, line, sizeof line) < 0)
            continue;
        for (char *save, *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
            pid_t child = (pid_t)strtol(word, NULL, 10);
            visit(child, context);
            visit_below(child, visit, context, depth + 1);
        }
    }
}

void watcher_visit(pid_t pid, void (*visit)(pid_t pid, void *context), void *context) {
    visit(pid, context);
    visit_below(pid, visit, context, 0);
}
