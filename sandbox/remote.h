/*
 * remote.h - system calls made by somebody else: batches of calls that a stopped task runs for us.
 *
 * In the image stand a page of code and some pages of data that are ours (the
 * site). A batch is a table of calls in the data; the code makes one after the
 * other, stops at the first that fails, and then stops the task. Nobody else
 * may be running in that memory. The code is written anew whenever code of a
 * cell has run, and what a task does instead of our code (a page unmapped, say)
 * is an error here and nothing worse: it has no more rights than we gave it.
 *
 * See: compel in CRIU; ptrace(2).
 */
#ifndef PETRI_SANDBOX_REMOTE_H
#define PETRI_SANDBOX_REMOTE_H

#include "sandbox.h"

#include <sys/types.h>
#include <sys/user.h>

enum {
    REMOTE_MAX_CALLS = 64,
    REMOTE_SCRATCH_BYTES = 7 * 4096,
};

/* Where our pages stand in the image. */
struct remote_site {
    uint64_t code;
    uint64_t table;
    uint64_t scratch; /* REMOTE_SCRATCH_BYTES, for what calls point to */
};

/* One call, laid out as the code reads it. */
struct remote_call {
    int64_t number;
    uint64_t argument[6];
    int64_t result; /* as the system call returns it; REMOTE_NOT_MADE where an earlier one failed */
};

#define REMOTE_NOT_MADE INT64_MIN

/* A stopped task that makes calls. */
struct remote_task {
    pid_t tid;                           /* as we know it */
    pid_t tid_inside;                    /* as it knows itself */
    int memory_fd;                       /* of its address space */
    const struct user_regs_struct *regs; /* any registers that it had: for segments and flags */
    const struct remote_site *site;
};

/* Makes the site in a stopped, trusted task (one that has run no cell yet). 0 or -errno. */
int remote_make_site(pid_t tid, int memory_fd, struct remote_site *ret_site);

/* Writes the code into the site: once after code of a cell has run in this memory. 0 or -errno. */
int remote_write_code(int memory_fd, const struct remote_site *site);

/*
 * Writes the code again, and looks whether the site of the stopped process pid
 * is still its own: private pages. Shared ones, mapped in their place, would let
 * a cell change the calls that we have the image make while the cell runs.
 * 0, -EUCLEAN, or -errno.
 *
 * See: pagemap.rst.
 */
int remote_check_site(pid_t pid, int memory_fd, const struct remote_site *site);

/*
 * Has a task make n calls. Tasks that it clones are left stopped: their ids go
 * to ret_clones, as many as max_clones, in order; NULL where none is expected.
 * The task's registers and signal mask are lost. 0; -EUCLEAN where our code
 * did not run as it should; -errno. A failed call is not an error of the
 * batch: look at the results.
 */
int remote_run(const struct remote_task *task, struct remote_call *calls, size_t n, pid_t *ret_clones,
               size_t max_clones);

/* The result of the first call that failed, or 0; ret_index may be NULL. */
int remote_failure(const struct remote_call *calls, size_t n, size_t *ret_index);

#endif
