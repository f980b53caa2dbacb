/*
 * nursery.h - the process in whose mount namespace the template stands, and that makes sandboxes from it.
 *
 *     kernel          pid 1 of our pid namespace
 *       nursery       template; no zmq, no threads, no client's bytes
 *         init        pid 1 of the cage, where keepers live
 *         init        pid 1 of one sandbox, in a pid namespace below the cage's
 *       worker        started by the nursery, but a child of the kernel
 *
 * Code of a cell that got hold of a keeper could see the cage and what is below
 * it: inits, which are hollow (init.h). The nursery and the kernel have no
 * number there. But for its first answer nothing that the nursery says carries a
 * descriptor: Linux counts those on their way by user, and others may have used
 * them up.
 *
 * Sandboxes are asked for with nursery_request() and taken with
 * nursery_take(), in order, so that the nursery can work while we do.
 *
 * See: clone(2), CLONE_PARENT; docs/sandbox.md.
 */
#ifndef PETRI_SANDBOX_SPAWN_NURSERY_H
#define PETRI_SANDBOX_SPAWN_NURSERY_H

#include "sandbox/sandbox.h"

#include <sys/types.h>

struct nursery {
    pid_t pid;
    pid_t cage;   /* its pid 1 */
    int socket;   /* ours */
    int files_fd; /* holds the session's files (layers.h), and "view": the notebook's folder as they show it */
    struct session_view view;
};

/* The worker's ends; the nursery closes its copies. */
struct nursery_boot {
    int control_fd;
    int stdout_fd;
    int stderr_fd;
    int trace_fd;
};

/* One sandbox: its pid 1, as a pid of ours, as one in the cage, and as a pidfd, which is the caller's. */
struct sandbox_init {
    pid_t pid;
    pid_t pid_in_cage;
    int pidfd;
};

/*
 * Starts the nursery, builds the template and starts the worker on the live
 * files. ret_worker is the worker's pid: a child of the calling process.
 */
int nursery_start(const struct session_options *options, const struct nursery_boot *boot, struct nursery *ret_nursery,
                  pid_t *ret_worker, struct sandbox_error *ret_error);

/* Ends the nursery and its sandboxes. */
void nursery_stop(struct nursery *nursery);

/* Asks for a sandbox with the live files (LAYER_LIVE), or over a layer that is made along with it. 0 or -errno. */
int nursery_request(const struct nursery *nursery, uint64_t layer, struct sandbox_error *ret_error);

/*
 * Lends the live files room for other names beside those that cells have given
 * them, or ends the loan: what is taken by then may stay. Waits for it, as all of
 * these, and no sandbox may have been asked for and not taken. 0 or -errno.
 */
int nursery_lend_names(const struct nursery *nursery);
int nursery_end_loan(const struct nursery *nursery);

/* Hides what has been added to homes since, from cells that have not begun. 0 or -errno. */
int nursery_hide(const struct nursery *nursery);

/* Once the live files have been changed by us: see mounts_refresh_session() and mounts_renew_session(). 0 or -errno. */
int nursery_refresh(const struct nursery *nursery);
int nursery_renew(const struct nursery *nursery);

/* Waits for the oldest sandbox asked for. 0 or -errno. */
int nursery_take(const struct nursery *nursery, struct sandbox_init *ret_init, struct sandbox_error *ret_error);

#endif
