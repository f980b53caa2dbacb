/*
 * watcher.h - what processes hold and use, read from /proc: for machines without control groups.
 *
 * See: proc_pid_smaps(5), proc_pid_stat(5).
 */
#ifndef PETRI_SANDBOX_WATCHER_H
#define PETRI_SANDBOX_WATCHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct watcher_reading {
    uint64_t memory_bytes; /* resident, that is not a file's */
    uint64_t cpu_us;       /* with that of children that have been waited for */
    unsigned tasks;
};

/* Adds what process pid says of itself. What has ended adds nothing. Costs some microseconds. */
void watcher_read(pid_t pid, struct watcher_reading *reading);

/*
 * The memory of one process that it shares with nobody outside of its cell:
 * what its cell has written. alone: no other process of the cell shares it, so
 * that what is shared is the image's. Walks the page tables: a millisecond for
 * some hundred megabytes. 0 where it has ended.
 */
uint64_t watcher_read_written(pid_t pid, int alone);

/* Calls visit for process pid and all its descendants. */
void watcher_visit(pid_t pid, void (*visit)(pid_t pid, void *context), void *context);

#endif
