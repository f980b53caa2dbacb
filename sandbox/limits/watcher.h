/*
 * watcher.h - what processes hold and use, read from /proc: for machines without control groups.
 *
 * See: proc_pid_smaps(5), proc_pid_stat(5).
 */
#ifndef PETRI_SANDBOX_LIMITS_WATCHER_H
#define PETRI_SANDBOX_LIMITS_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WATCHER_MAX_FILES = 64 };

struct watcher_reading {
    uint64_t memory_bytes; /* resident or swapped out, that is not a file's; and page tables */
    uint64_t cpu_us;       /* with that of children that have been waited for */
    unsigned tasks;
    struct watcher_file {
        ino_t inode;
        uint64_t bytes;
    } file[WATCHER_MAX_FILES]; /* files in memory (memfd_create) that are open, mapped or not: each once */
    size_t n_files;
    uint64_t more_files_bytes; /* of those that are more, each as often as it is open */
};

/*
 * Adds what process pid says of itself; its memory only where counts_memory, for
 * it may share that with one that was read before. What has ended adds
 * nothing. Costs some microseconds.
 */
void watcher_read(pid_t pid, bool counts_memory, struct watcher_reading *reading);

/* What files in memory have now, beyond what each of them had before. */
uint64_t watcher_files_beside(const struct watcher_reading *now, const struct watcher_reading *before);

/* The memory of one process: what is shared is counted in parts. */
struct watcher_shares {
    uint64_t private_bytes; /* written, and shared with no other process */
    uint64_t anon_bytes;    /* its part of what it shares with copies of itself, and what is private */
    uint64_t shared_bytes;  /* its part of shared memory */
    uint64_t swap_bytes;    /* swapped out, shared or not */
    uint64_t tables_bytes;  /* its page tables: they grow with what is mapped and looked at, written or not */
};

/* Walks the page tables: a millisecond for some hundred megabytes. Zeros where pid has ended. */
void watcher_read_shares(pid_t pid, struct watcher_shares *ret_shares);

/* The threads of the process of a task; 0 where it has ended. See: proc_pid_task(5), its link count. */
unsigned watcher_count_tasks(pid_t pid);

/* Whether a task has memory at all: one that ends gives it up some time before it is dead. See: proc_pid_statm(5). */
bool watcher_has_memory(pid_t tid);

/*
 * Calls visit for process pid and all its descendants, each by the id
 * of a thread whose folder in /proc has its memory and files: the first thread,
 * unless that has ended before the others. False where visit said so, which ends it.
 */
bool watcher_visit(pid_t pid, bool (*visit)(pid_t tid, void *context), void *context);

#endif
