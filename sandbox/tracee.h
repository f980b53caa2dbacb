/*
 * tracee.h - tasks under ptrace: stopping, waiting, memory.
 *
 * See: ptrace(2), PTRACE_SEIZE; proc_pid_mem(5).
 */
#ifndef PETRI_SANDBOX_TRACEE_H
#define PETRI_SANDBOX_TRACEE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

/*
 * Seizes a running task, with the options that make the tasks it clones
 * tracees too and let all die with us, and tells it to stop: tracee_await_stop()
 * says when it has. 0, -ESRCH where it is gone, or -errno.
 */
int tracee_seize(pid_t tid);

/*
 * Waits at most timeout_ms for a tracee to stop; ret_status is waitpid(2)'s.
 * SIGCHLD must be blocked in the calling thread.
 * 0, -ESRCH where it ended instead (it is left to be reaped), -ETIMEDOUT, or -errno.
 */
int tracee_await_stop(pid_t tid, int timeout_ms, int *ret_status);

/* Lets a stopped tracee go on; without a signal. 0 or -errno. */
int tracee_continue(pid_t tid);

/* Sends SIGKILL to a task of ours and reaps it; its other threads must be reaped before. */
void tracee_kill(pid_t tid);

/* Waits until a task is dead, and reaps it. */
void tracee_reap(pid_t tid);

int tracee_get_regs(pid_t tid, struct user_regs_struct *ret_regs);
int tracee_set_regs(pid_t tid, const struct user_regs_struct *regs);

/* Blocks every signal that can be blocked; so a stopped tracee runs what it is told and no handler. */
int tracee_block_signals(pid_t tid);

/* The memory of a process, as a descriptor: pread(2) and pwrite(2) at addresses. -errno on failure. */
int tracee_open_memory(pid_t pid);

/* Whole reads and writes of memory; 0, -EFAULT where it is not all there, or -errno. */
int memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes);
int memory_write(int memory_fd, uint64_t address, const void *buf, size_t bytes);

#endif
