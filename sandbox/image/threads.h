/*
 * threads.h - what is recorded of each thread of an image, and how a new task becomes that thread.
 *
 * See: set_robust_list(2), rseq(2), sigaltstack(2), PR_GET_TID_ADDRESS(2const).
 */
#ifndef PETRI_SANDBOX_IMAGE_THREADS_H
#define PETRI_SANDBOX_IMAGE_THREADS_H

#include "sandbox/inject/inject.h"

#include <signal.h>

enum { THREADS_MAX = 4096 };

struct thread {
    pid_t tid; /* in the cell's pid namespace: the same in every cell */
    struct user_regs_struct regs;
    void *xstate; /* extended registers, owned; see NT_X86_XSTATE in ptrace(2) */
    size_t xstate_bytes;
    uint64_t signal_mask;
    uint64_t rseq_address;
    uint32_t rseq_bytes;
    uint32_t rseq_signature;
    uint64_t robust_list;
    size_t robust_list_bytes;
    stack_t alternate_stack;
    uint64_t clear_tid; /* address that the end of the thread clears, 0 for none */
    char name[16];
};

/* The threads of one image; thread[0] is the main one. */
struct threads {
    size_t n;
    uint64_t extended_features; /* that the process may use, a bit each; see ARCH_GET_XCOMP_PERM in arch_prctl(2) */
    struct thread *thread;
};

void threads_fini(struct threads *threads);

/* What the records take of our own memory. */
uint64_t threads_bytes(const struct threads *threads);

/*
 * Stops all threads of process pid and makes them tracees. ret_tids (as we
 * know them, the main one first) is malloc'ed and the caller's; so are all
 * seized threads, also on failure: *ret_tids and *ret_n then hold those there
 * are. 0, -ESRCH where the process is dead, -ETIMEDOUT where a thread does not
 * stop, -EOVERFLOW for more than THREADS_MAX.
 */
int threads_stop(pid_t pid, pid_t **ret_tids, size_t *ret_n);

/*
 * Records what can be seen of stopped threads from outside: registers, mask,
 * lists. ret is the caller's. 0, -ESRCH, -EUCLEAN where Linux would not take
 * the registers back, or -errno.
 */
int threads_record_registers(const pid_t *tids, size_t n, struct threads *ret);

/*
 * Records the rest, which each thread must be asked for: it runs a few calls in
 * area, and its registers are lost. No other task may be running in that memory.
 * 0, -EUCLEAN, or -errno.
 */
int threads_record_registrations(const pid_t *tids, int memory_fd, const struct inject_area *area,
                                 struct threads *threads);

/*
 * Has the main task of a process that is being made ask for the registers that
 * must be asked for (AMX), as the recorded process has: before it has other
 * threads or a signal stack. 0, -EUCLEAN or -errno.
 */
int threads_request_features(const struct threads *threads, const struct inject_task *task);

/* Appends to calls (room for THREAD_CALLS) what makes a fresh task the thread; returns how many. Uses scratch from
 * offset on. Where Linux doesn't take one of them, the thread goes on without. */
enum { THREAD_CALLS = 3, THREAD_SCRATCH_BYTES = 64 };
size_t thread_restore_calls(const struct thread *thread, int memory_fd, uint64_t scratch, struct inject_call *calls);

/*
 * Has a task use the registers that must be asked for as far as the thread has used them: else Linux would not let
 * them be set. Takes the scratch memory. 0, -EUCLEAN or -errno.
 */
int thread_load_features(const struct thread *thread, const struct inject_task *task) MUST_CHECK;

/*
 * Registers the thread's restartable sequences, as the last call that its task
 * makes: from here on, Linux may send the task to code of the cell's. Where
 * Linux doesn't take them any more (the cell has unmapped the memory, say), the
 * thread goes on without. 0 or -errno.
 */
int thread_restore_rseq(const struct thread *thread, const struct inject_task *task);

/* Sets what can be set from outside: registers and mask. The task must not run before it is detached. 0 or -errno. */
int thread_restore_registers(const struct thread *thread, pid_t tid);

#endif
