/*
 * processes.h - the memory and CPU time of many processes, read from /proc.
 *
 * Memory is proportional (Pss), because cells share most of their memory with their
 * image, and a sum of resident sizes would count it once for each. A cell's worker
 * and its keeper have one address space between them, which Pss counts for both: it
 * is added once. The ticks of a process that has ended are lost, unless its parent
 * has waited for it.
 *
 * See: proc_pid_stat(5), proc_pid_smaps(5), kcmp(2).
 */
#ifndef PETRI_PROCESSES_H
#define PETRI_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

struct processes {
    unsigned n;
    uint64_t memory_bytes;
    uint64_t ticks; /* in user and kernel mode: sysconf(_SC_CLK_TCK) in a second */
};

/* All that /proc has. Takes a millisecond for some hundred megabytes, like the next. */
void processes_read_all(struct processes *ret);

/* A process and all below it. Zeros where there is none. */
void processes_read_below(pid_t pid, struct processes *ret);

#endif
