/*
 * descendants.h - the other processes of a cell: its worker's descendants, and those whose parent has died.
 *
 * See: proc_pid_task_tid_children(5), CONFIG_PROC_CHILDREN.
 */
#ifndef PETRI_SANDBOX_PROCESS_DESCENDANTS_H
#define PETRI_SANDBOX_PROCESS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Lists the children of thread tid of a process, at most max of them. Their
 * number, or -errno: -ENOENT where the thread has ended, or Linux has no lists.
 */
int descendants_list_children(pid_t process, pid_t tid, pid_t *ret_pids, size_t max);

/* The processes of a cell that are children of the stopped threads or of the sandbox's pid 1. */
struct descendants {
    unsigned alive; /* zombies left out, and those that hide by forking while we count */
    bool any;       /* false only where the sandbox certainly has no process but the stopped one and pid 1 */
};

/* Counts them. 0 or -errno. */
int descendants_count(const pid_t *tids, size_t n, pid_t init, struct descendants *ret_descendants);

/* Waits until there are none any more, after they have been killed. 0, or -ETIMEDOUT. */
int descendants_await_dead(const pid_t *tids, size_t n, pid_t init);

#endif
