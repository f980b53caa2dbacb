/*
 * tracee.h - tasks under ptrace: stopping, waiting, memory.
 *
 * See: ptrace(2), PTRACE_SEIZE; proc_pid_mem(5).
 */
#ifndef PETRI_SANDBOX_INJECT_TRACEE_H
#define PETRI_SANDBOX_INJECT_TRACEE_H

#include <stdbool.h>
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

/*
 * Lets a tracee that has stopped for something else than it was told to take
 * its signal, or 0, and stop again as soon as it has gone through with that:
 * any stop takes back the one that was asked for. 0 or -errno.
 */
int tracee_stop_again(pid_t tid, int signal);

/* Whether a status is that of a task stopped in a clone(2) whose child is a tracee too. */
bool tracee_is_clone(int status);

/* The task that was cloned, as we know it. 0 or -errno. */
int tracee_get_child(pid_t parent, pid_t *ret_child);

/*
 * Whether a tracee stands still: 0, or -ESRCH where it runs or is dead. So is one that was
 * killed, from then on, while its memory and /proc show it until it has had a processor to end.
 */
int tracee_check_stopped(pid_t tid);

/* Whether a thread is a tracee of ours already; not to be asked of our children. */
bool tracee_is_ours(pid_t tid);

/* Waits at most timeout_ms for a new tracee to stop, and is its tracer no longer. 0 or -errno. */
int tracee_let_go(pid_t tid, int timeout_ms);

/* Lets a stopped tracee go on; without a signal. 0 or -errno. */
int tracee_continue(pid_t tid);

/* The same, with the signal that it has stopped for. 0 or -errno. */
int tracee_deliver(pid_t tid, int signal);

/* The same without one, to the next system call that it enters or leaves. 0 or -errno. */
int tracee_continue_to_syscall(pid_t tid);

/* A tracee in front of a system call, or behind it. */
struct syscall_stop {
    bool is_entry;
    uint32_t arch;                /* AUDIT_ARCH_... */
    uint64_t instruction_pointer; /* behind the instruction */
    uint64_t number, argument[6]; /* where it is in front */
    int64_t result;               /* where it is behind */
};

/* Where a tracee stands that tracee_continue_to_syscall() has let go. 0, -EUCLEAN for anything else, or -errno. See:
 * PTRACE_GET_SYSCALL_INFO in ptrace(2). */
int tracee_get_syscall_stop(pid_t tid, struct syscall_stop *ret_stop);

/* How long the process of a task has executed code of its own, in milliseconds; 0 where that can't be told, -ESRCH
 * where the task is dead. The first of several threads can't be waited for as long as there are others, dead ones too.
 */
long tracee_own_code_ms(pid_t tid);

/* Sends SIGKILL to a task of ours and reaps it; its other threads must be reaped before. */
void tracee_kill(pid_t tid);

/* Waits until a task is dead, and reaps it. Whether it was ours to reap. */
bool tracee_reap(pid_t tid);

/*
 * The same for a process that has been killed: Linux keeps it until the threads
 * of it that we trace are reaped, noted before or not. ret_status is
 * waitpid(2)'s, left as it is where the process is not ours; or NULL.
 */
void tracee_reap_process(pid_t pid, int *ret_status);

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
