/*
 * kin.h - the other processes of a cell: its worker's descendants, and those whose parent has died.
 *
 * See: proc_pid_task_tid_children(5), CONFIG_PROC_CHILDREN.
 */
#ifndef PETRI_SANDBOX_KIN_H
#define PETRI_SANDBOX_KIN_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Lists the children of thread tid of a process, at most max of them. Their
 * number: 0 where the thread has ended, or -errno.
 */
int kin_list_children(pid_t process, pid_t tid, pid_t *ret_pids, size_t max);

/*
 * Counts the processes, zombies left out, that are children of the stopped
 * threads tids or of init, the sandbox's pid 1. Grandchildren are not counted.
 * 0 or -errno.
 */
int kin_count_alive(const pid_t *tids, size_t n, pid_t init, unsigned *ret_alive);

/* Waits until there are none any more, after they have been killed. 0, or -ETIMEDOUT. */
int kin_await_dead(const pid_t *tids, size_t n, pid_t init);

#endif
