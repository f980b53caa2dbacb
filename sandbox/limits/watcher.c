/*
 * watcher.c - sums over /proc of a process and its descendants.
 *
 * Processes end while they are looked at: what can't be read any more adds
 * nothing, and nothing fails. A file in memory is counted once by its inode
 * number, for it may be open in many processes; of those beyond WATCHER_MAX_FILES
 * each descriptor counts, which is too much rather than too little.
 */
#define _GNU_SOURCE
#include "watcher.h"

#include "base/cleanup.h"
#include "sandbox/base/difference.h"
#include "sandbox/process/descendants.h"
#include "sandbox/process/process.h"

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

/* The sum of some lines, in bytes; those that a process does not have any more are none. */
static uint64_t sum_of(struct procfs_text text, const char *const *names, size_t n) {
    uint64_t all = 0, bytes;
    for (size_t i = 0; i < n; i++)
        if (procfs_find_bytes(text, names[i], &bytes) && __builtin_add_overflow(all, bytes, &all))
            return UINT64_MAX;
    return all;
}

static uint64_t bytes_of(struct procfs_text text, const char *name) {
    return sum_of(text, &name, 1);
}

static void read_status(pid_t pid, bool counts_memory, struct watcher_reading *reading) {
    static const char *const held[] = {"RssAnon", "RssShmem", "VmSwap", "VmPTE"};
    char buf[PROCESS_STATUS];
    struct procfs_text text;
    uint64_t threads;
    if (process_read(pid, "status", buf, sizeof buf, &text))
        return;
    if (counts_memory)
        reading->memory_bytes += sum_of(text, held, sizeof held / sizeof held[0]);
    if (procfs_find_number(text, "Threads", 10, &threads))
        reading->tasks += (unsigned)threads;
}

static void read_times(pid_t pid, struct watcher_reading *reading) {
    struct procfs_stat stat;
    if (process_read_stat(pid, &stat))
        return;
    reading->cpu_us += (stat.user_ticks + stat.system_ticks + stat.children_user_ticks + stat.children_system_ticks) *
                       1000000 / (uint64_t)sysconf(_SC_CLK_TCK);
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
    uint64_t bytes = positive_difference(now->more_files_bytes, before->more_files_bytes);
    for (size_t i = 0; i < now->n_files; i++) {
        const struct watcher_file *was = find_file(before, now->file[i].inode);
        bytes += positive_difference(now->file[i].bytes, was ? was->bytes : 0);
    }
    return bytes;
}

/* The contents of a file in memory are resident, mapped or not. */
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
    char buf[PROCESS_STATUS];
    struct procfs_text text;
    *ret_shares = (struct watcher_shares){0};
    if (process_read(pid, "smaps_rollup", buf, sizeof buf, &text))
        return;
    ret_shares->private_bytes = bytes_of(text, "Private_Dirty");
    ret_shares->anon_bytes = sum_of(text, (const char *const[]){"Pss_Anon", "SwapPss"}, 2);
    ret_shares->shared_bytes = bytes_of(text, "Pss_Shmem");
    ret_shares->swap_bytes = bytes_of(text, "Swap");
    if (process_read(pid, "status", buf, sizeof buf, &text) == 0)
        ret_shares->tables_bytes = bytes_of(text, "VmPTE");
}

unsigned watcher_count_tasks(pid_t pid) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    return stat(path, &st) == 0 && st.st_nlink > 2 ? (unsigned)st.st_nlink - 2 : 0;
}

bool watcher_has_memory(pid_t tid) {
    char buf[PROCESS_SMALL];
    struct procfs_text text;
    uint64_t pages;
    return process_read(tid, "statm", buf, sizeof buf, &text) == 0 && procfs_get_number(text, 0, &pages) && pages > 0;
}

/*
 * The thread by which the memory and the files of a process can be read: the first
 * one, or another where that has ended before the others, for then /proc/pid has
 * neither.
 */
static pid_t task_of(pid_t pid) {
    char path[32];
    struct dirent *entry;
    if (watcher_has_memory(pid))
        return pid;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    auto_dir dir = opendir(path);
    while (dir && (entry = readdir(dir))) {
        pid_t tid;
        if (procfs_parse_id(entry->d_name, &tid) && watcher_has_memory(tid))
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
        pid_t tid;
        int n = procfs_parse_id(entry->d_name, &tid)
                    ? descendants_list_children(pid, tid, found->pid + found->n, MAX_PROCESSES - found->n)
                    : 0;
        found->n += n > 0 ? (size_t)n : 0;
    }
}

/* The list is the queue of the walk, so the depth of the tree does not matter. */
bool watcher_visit(pid_t pid, bool (*visit)(pid_t tid, void *context), void *context) {
    struct family found = {.pid = {pid}, .n = 1};
    for (size_t i = 0; i < found.n; i++) {
        if (!visit(task_of(found.pid[i]), context))
            return false;
        add_children(found.pid[i], &found);
    }
    return true;
}
