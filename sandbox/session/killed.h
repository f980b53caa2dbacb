/*
 * killed.h - the processes that a session has killed, until they are dead.
 *
 * They are reaped when they have died, and waited for only before memory is measured
 * or files are put back: to free an address space may take longer than making a cell.
 *
 * See: waitpid(2).
 */
#ifndef PETRI_SANDBOX_SESSION_KILLED_H
#define PETRI_SANDBOX_SESSION_KILLED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { KILLED_MAX = 64 };

struct killed {
    size_t n;
    pid_t pid[KILLED_MAX]; /* children of ours that are not reaped yet */
};

/* Takes over a killed child, or a killed tracee that is a thread of the one before: it is reaped when it is dead. Waits
 * for another one where the list is full. 0 is ignored. */
void killed_add(struct killed *killed, pid_t pid);

/* Reaps what has died since. */
void killed_reap(struct killed *killed);

/* Waits until all are dead and their memory free: before memory is measured. */
void killed_await(struct killed *killed);

bool killed_has(const struct killed *killed, pid_t pid);

#endif
