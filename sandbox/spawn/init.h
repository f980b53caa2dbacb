/*
 * init.h - a pid 1 that only keeps its namespaces alive.
 *
 * A pid 1 begins as a copy of the zygote, and code of a cell that has taken over one
 * of our tasks may be able to look at it. So it gives up what it has: all memory but one
 * page, which can only be executed, all descriptors but those that it reports and
 * sleeps with and one more, and all system calls but read, write and exit.
 *
 * See: SECCOMP_SET_MODE_STRICT in seccomp(2). Where the process has a filter
 * already, as in a container, it is a filter of the same effect.
 */
#ifndef PETRI_SANDBOX_SPAWN_INIT_H
#define PETRI_SANDBOX_SPAWN_INIT_H

#include "sandbox/sandbox.h"

/*
 * Where Linux's own pages lie (vdso, vvar), which stay: they hold no secret,
 * and may be sealed, so that they can't be unmapped. The same in all copies of a
 * process. start == end where there are none.
 */
struct init_kept {
    uint64_t start, end;
};

/* Finds them in this process, with /proc. 0 or -errno. */
int init_find_kept(struct init_kept *ret_kept) MUST_CHECK;

enum { INIT_MAX_REPORT_BYTES = 1024 };

/* The number of the one more descriptor that such a process may keep open, for others to take: pidfd_getfd(2). */
enum { INIT_KEPT_FD = 3 };

/*
 * Becomes such a process for good, and then writes report to status_fd; at most
 * INIT_MAX_REPORT_BYTES; kept_fd gets the number INIT_KEPT_FD, or is -1 for none.
 * Returns only on failure, with -errno. The process must
 * have one thread and ignore SIGCHLD; children that are left to it are reaped
 * by Linux.
 */
int init_become(const struct init_kept *kept, int status_fd, int kept_fd, const void *report, size_t bytes) MUST_CHECK;

/*
 * To be called once in the zygote, before init_become() in one of its copies.
 * From now on the libraries of the program, but for libc, are not part of
 * processes made by fork(2): most of what a fork costs are their mappings. A
 * process that calls them nevertheless dies. See: MADV_DONTFORK in madvise(2),
 * dl_iterate_phdr(3).
 */
void init_leave_out_libraries(void);

#endif
