/*
 * inject.h - system calls that a stopped task makes for us.
 *
 * In the image stand a page of code and some pages of data that are ours (the
 * parasite area). A cell may have prepared its memory so that tasks on it do
 * something else than they are asked to. So there are two ways to make a call:
 *
 *     checked    One call. The task stops in front of it and behind it, and
 *                what it is about to ask of Linux is compared with what is due,
 *                the memory that it points to included. The way for every task
 *                that has more rights than code of a cell, or stands outside
 *                its sandbox: nothing else than the call that is due is made.
 *     batch      A table of calls in the data, made without a stop. Quicker,
 *                and the way for tasks in a sandbox that may do no more than
 *                its cell: what they do instead, the cell could have done.
 *
 * A task that does anything else, clones another one, or stays in its own code,
 * is killed. No other task may be running in that memory, but for checked calls
 * without arguments in memory.
 *
 * See: compel in CRIU; ptrace(2), PTRACE_SYSCALL, PTRACE_GET_SYSCALL_INFO.
 */
#ifndef PETRI_SANDBOX_INJECT_INJECT_H
#define PETRI_SANDBOX_INJECT_INJECT_H

#include "sandbox/sandbox.h"

#include <sys/types.h>
#include <sys/user.h>

enum {
    INJECT_MAX_CALLS = 64,
    INJECT_SCRATCH_BYTES = 7 * 4096,
};

/* Where our pages stand in the image, and the segments of 64-bit code there. */
struct inject_area {
    uint64_t code;
    uint64_t table;
    uint64_t scratch; /* INJECT_SCRATCH_BYTES, for what calls point to */
    uint64_t code_segment, stack_segment;
};

/* One call, laid out as the code reads it. */
struct inject_call {
    int64_t number;
    uint64_t argument[6];
    int64_t result; /* as the system call returns it; INJECT_NOT_MADE where an earlier one failed */
};

#define INJECT_NOT_MADE INT64_MIN

/* A stopped task that makes calls. */
struct inject_task {
    pid_t tid;        /* as we know it */
    pid_t tid_inside; /* as it knows itself; of no use to checked calls */
    int memory_fd;    /* of its address space */
    const struct inject_area *area;
};

/* Makes the area in a stopped, trusted task (one that has run no cell yet). 0 or -errno. */
int inject_make_area(pid_t tid, int memory_fd, struct inject_area *ret_area);

/* Writes the code into the area: once after code of a cell has run in this memory. 0 or -errno. */
int inject_write_code(int memory_fd, const struct inject_area *area);

/*
 * Writes the code again, and looks whether the area of the stopped process pid
 * is still its own: private pages. Shared ones, mapped in their place, would let
 * a cell change the calls that we have the image make while the cell runs.
 * 0, -EUCLEAN, or -errno.
 *
 * See: pagemap.rst.
 */
int inject_check_area(pid_t pid, int memory_fd, const struct inject_area *area);

/* What a call points to. */
struct inject_memory {
    uint64_t address; /* in the scratch memory */
    const void *data; /* borrowed */
    size_t bytes;
};

/*
 * Has a task make one checked call. memory, or NULL, is put in its place before
 * and compared when the task stands in front of the call. ret_child takes the
 * task that the call has cloned, which is left stopped; NULL where none is
 * expected. The task's registers and signal mask are lost. 0; -EUCLEAN where
 * the task did something else, and is killed; -errno. That the call failed is
 * not an error: look at call->result.
 */
int inject_checked(const struct inject_task *task, struct inject_call *call, const struct inject_memory *memory,
                   pid_t *ret_child) MUST_CHECK;

/* How far a checked call has come. */
struct inject_progress {
    bool entered, cloned;
    int stops;
};

/* A checked call without memory that nobody waits for: all 0 before the first. */
struct inject_pending {
    struct inject_call call;
    bool is_begun; /* the task runs */
    struct inject_progress progress;
    long own_ms; /* own code of the task when it was seen to run, + 1; 0 for not yet */
};

/*
 * Begins a call, or goes on with one that was begun, as long as has_time(arg): code of a
 * cell runs in this memory, and can keep the task from it for as long as it likes. 1 where
 * the call is done; 0 where the task still runs; or as inject_checked().
 */
int inject_go_on(const struct inject_task *task, struct inject_pending *pending, cell_is_idle *has_time,
                 void *arg) MUST_CHECK;

/* Waits for a call that was begun, once no other task runs in this memory. 0 or as inject_checked(). */
int inject_conclude(const struct inject_task *task, struct inject_pending *pending) MUST_CHECK;

/* inject_checked() for a call that ends the task, which is left to be reaped. 0; -EUCLEAN, or -errno. */
int inject_last(const struct inject_task *task, struct inject_call call) MUST_CHECK;

/*
 * Has a task make n calls as a batch, to the first that fails. The rest as
 * above.
 */
int inject_batch(const struct inject_task *task, struct inject_call *calls, size_t n) MUST_CHECK;

/*
 * Has a task load some components, a bit each, of xstate, which is as NT_X86_XSTATE has
 * it. For a component that must be asked for (AMX), Linux gives a task room when the task
 * first loads it, and no tracer can set it before. Takes the scratch memory. -E2BIG; the
 * rest as inject_batch().
 *
 * See: XRSTOR and "extended feature disable" in Intel's manual; Documentation/arch/x86/xstate.rst.
 */
int inject_load(const struct inject_task *task, const void *xstate, size_t bytes, uint64_t components) MUST_CHECK;

/*
 * Has a task make the area fit for copies of its memory again: pages of memory
 * and of no file, protected as they have to be, that a copy has too. A cell may
 * have changed all of that, and a page that lies over a file goes when the file
 * is cut short, in the image as well. 0, -EUCLEAN where it can't be had, or -errno.
 *
 * See: MADV_DONTFORK, MADV_WIPEONFORK in madvise(2).
 */
int inject_renew_area(const struct inject_task *task) MUST_CHECK;

/*
 * What a result says. It stood in a task's register or in memory that was a cell's: what Linux doesn't give for such a
 * call is not cut to what would fit, but -EUCLEAN. Of a call that gives 0: 0 or -errno. Of one that gives a
 * descriptor: its number or -errno.
 */
int inject_result_status(int64_t result) MUST_CHECK;
int inject_result_descriptor(int64_t result) MUST_CHECK;

/* The result of the first call that failed, as -errno, or 0; ret_index may be NULL. */
int inject_failure(const struct inject_call *calls, size_t n, size_t *ret_index);

#endif
