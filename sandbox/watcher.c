#define _GNU_SOURCE
#include "watcher.h"

#include "cleanup.h"
#include "excess.h"
#include "kin.h"
#include "system.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PROCESSES = 8192 }; /* more than the highest limit of a cell */

/* A process and all below it. */
struct family {
    pid_t pid[MAX_PROCESSES];
    size_t n;
};

/* The value in kB of a line "KEY:   N kB". */
static uint64_t kilobytes(const char *text, const char *key) {
    const char *line = strstr(text, key);
    return line ? strtoull(line + strlen(key), NULL, 10) : 0;
}

static void read_status(pid_t pid, bool counts_memory, struct watcher_reading *reading) {
    static const char *const held[] = {"\nRssAnon:", "\nRssShmem:", "\nVmSwap:", "\nVmPTE:"};
    char path[32], text[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return;
    if (counts_memory)
        for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
            reading->memory_bytes += 1024 * kilobytes(text, held[i]);
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

static const struct watcher_file *find_file(const struct watcher_reading *reading, ino_t inode) {
    for (size_t i = 0; i < reading->n_files; i++)
        if (reading->file[i].inode == inode)
            return &reading->file[i];
    return NULL;
}

static void add_file(struct watcher_reading *reading, const struct stat *st) {
    const struct watcher_file file = {.inode = st->st_ino, .bytes = (uint64_t)st->st_blocks * 512};
    if (find_file(reading, file.inode))
        return;
    if (reading->n_files < WATCHER_MAX_FILES)
        reading->file[reading->n_files++] = file;
    else
        reading->more_files_bytes += file.bytes;
}

uint64_t watcher_files_beside(const struct watcher_reading *now, const struct watcher_reading *before) {
    uint64_t bytes = excess(now->more_files_bytes, before->more_files_bytes);
    for (size_t i = 0; i < now->n_files; i++) {
        const struct watcher_file *was = find_file(before, now->file[i].inode);
        bytes += excess(now->file[i].bytes, was ? was->bytes : 0);
    }
    return bytes;
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
        if (fstatat(dirfd(dir), entry->d_name, &st, 0) == 0)
            add_file(reading, &st);
    }
}

void watcher_read(pid_t pid, bool counts_memory, struct watcher_reading *reading) {
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
    ret_shares->anon_bytes = 1024 * (kilobytes(text, "\nPss_Anon:") + kilobytes(text, "\nSwapPss:"));
    ret_shares->shared_bytes = 1024 * kilobytes(text, "\nPss_Shmem:");
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) > 0)
        ret_shares->tables_bytes = 1024 * kilobytes(text, "\nVmPTE:");
}

unsigned watcher_count_tasks(pid_t pid) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    return stat(path, &st) == 0 && st.st_nlink > 2 ? (unsigned)st.st_nlink - 2 : 0;
}

bool watcher_has_memory(pid_t tid) {
    char path[32], text[128];
    snprintf(path, sizeof path, "/proc/%d/statm", tid);
    return system_read_file(AT_FDCWD, path, text, sizeof text) > 0 && strtoull(text, NULL, 10) > 0;
}

/*
 * By which the memory and the files of a process can be told: itself, or
 * another thread where the first has ended alone, for that leaves /proc/pid
 * without either.
 */
static pid_t task_of(pid_t pid) {
    char path[32];
    struct dirent *entry;
    if (watcher_has_memory(pid))
        return pid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    auto_dir dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && watcher_has_memory(tid))
            return tid;
    }
    return pid;
}

/* Adds the children of all threads of a process to found. */
static void add_children(pid_t pid, struct family *found) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    auto_dir dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        int n = tid > 0 ? kin_list_children(pid, tid, found->pid + found->n, MAX_PROCESSES - found->n) : 0;
        found->n += n > 0 ? (size_t)n : 0;
    }
}

/* However deep the family is, and however large one of its members' own. */
void watcher_visit(pid_t pid, void (*visit)(pid_t tid, void *context), void *context) {
    struct family found = {.pid = {pid}, .n = 1};
    for (size_t i = 0; i < found.n; i++) {
        visit(task_of(found.pid[i]), context);
        add_children(found.pid[i], &found);
    }
}
