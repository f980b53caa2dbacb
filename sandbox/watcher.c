#define _GNU_SOURCE
#include "watcher.h"

#include "cleanup.h"
#include "system.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 64 };

/* The value in kB of a line "KEY:   N kB". */
static uint64_t kilobytes(const char *text, const char *key) {
    const char *line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static void read_status(pid_t pid, int counts_memory, struct watcher_reading *reading) {
    char path[32], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return;
    if (counts_memory)
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

/* Whether a file was not counted before. */
static int is_new(ino_t inode, struct watcher_reading *reading) {
    for (size_t i = 0; i < reading->n_files; i++)
        if (reading->files[i] == inode)
            return 0;
    if (reading->n_files < WATCHER_MAX_FILES)
        reading->files[reading->n_files++] = inode;
    return 1;
}

/* What is in a file of memory is resident whether somebody maps it or not. */
static void read_files(pid_t pid, struct watcher_reading *reading) {
    static const char memfd[] = "/memfd:";
    char path[32], target[64];
    struct dirent *entry;
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    auto_dir dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof target);
        if (n < (ssize_t)sizeof memfd - 1 || memcmp(target, memfd, sizeof memfd - 1) != 0)
            continue;
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && is_new(st.st_ino, reading))
            reading->files_bytes += (uint64_t)st.st_blocks * 512;
    }
}

void watcher_read(pid_t pid, int counts_memory, struct watcher_reading *reading) {
    read_status(pid, counts_memory, reading);
    read_times(pid, reading);
    read_files(pid, reading);
}

void watcher_read_shares(pid_t pid, struct watcher_shares *ret_shares) {
    char path[40], text[4096];
    *ret_shares = (struct watcher_shares){0};
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return;
    ret_shares->private_bytes = 1024 * kilobytes(text, "\nPrivate_Dirty:");
    ret_shares->anon_bytes = 1024 * kilobytes(text, "\nPss_Anon:");
    ret_shares->shared_bytes = 1024 * kilobytes(text, "\nPss_Shmem:");
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
