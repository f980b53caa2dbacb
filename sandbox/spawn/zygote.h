/*
 * zygote.h - the process in whose mount namespace the template stands, and that makes sandboxes from it.
 *
 *     kernel          pid 1 of our pid namespace
 *       zygote       template; no zmq, no threads, no client's bytes
 *         init        pid 1 of the cage, where keepers live
 *         init        pid 1 of one sandbox, in a pid namespace below the cage's
 *       worker        started by the zygote, but a child of the kernel
 *
 * Code of a cell that took over a keeper could see the cage and what is below it:
 * inits, which have nothing left to take (init.h). The zygote and the kernel have
 * no pid there. Only the zygote's first answer carries a descriptor: Linux limits
 * descriptors in flight by user, and other programs of the user may have reached
 * that limit.
 *
 * Sandboxes are asked for with zygote_request_sandbox() and taken with
 * zygote_take_sandbox(), in order, so that the zygote works at the same time as we.
 *
 * See: clone(2), CLONE_PARENT; docs/sandbox.md.
 */
#ifndef PETRI_SANDBOX_SPAWN_ZYGOTE_H
#define PETRI_SANDBOX_SPAWN_ZYGOTE_H

#include "sandbox/sandbox.h"
#include "sandbox/spawn/worker_fds.h"

#include <sys/types.h>

struct zygote {
    pid_t pid;
    pid_t cage;   /* its pid 1 */
    int socket;   /* ours */
    int files_fd; /* holds the session's files (layers.h), and "view": the notebook's folder as they show it */
    struct session_view view;
};

/* One sandbox: its pid 1, as a pid of ours, as one in the cage, and as a pidfd, which is the caller's. */
struct sandbox_init {
    pid_t pid;
    pid_t pid_in_cage;
    int pidfd;
};

/*
 * Starts the zygote, builds the template and starts the worker on the live
 * files. ret_worker is the worker's pid: a child of the calling process.
 */
int zygote_start(const struct session_options *options, const struct worker_fds *worker_fds, struct zygote *ret_zygote,
                 pid_t *ret_worker, struct error *ret_error);

/* Ends the zygote and its sandboxes. */
void zygote_stop(struct zygote *zygote);

/* Asks for a sandbox with the live files (LAYER_LIVE), or over a layer that is made along with it. 0 or -errno. */
int zygote_request_sandbox(const struct zygote *zygote, uint64_t layer, struct error *ret_error);

/*
 * Raises the limit of how many live files there may be, for names beside those that
 * cells have given them, or puts it back: what is used by then may stay. Waits for
 * the answer, as all of these do, and no sandbox may have been requested and not
 * taken. 0 or -errno.
 */
int zygote_raise_file_limit(const struct zygote *zygote);
int zygote_lower_file_limit(const struct zygote *zygote);

/* Hides what has been added to homes since, from cells that have not begun. 0 or -errno. */
int zygote_hide_added(const struct zygote *zygote);

/* Once the live files have been changed by us: see mounts_refresh_session() and mounts_renew_session(). 0 or -errno. */
int zygote_refresh(const struct zygote *zygote);
int zygote_renew(const struct zygote *zygote);

/* Whether it has ended by itself; it is left to be reaped. */
bool zygote_has_ended(const struct zygote *zygote);

/* Waits for the oldest sandbox asked for. 0 or -errno. */
int zygote_take_sandbox(const struct zygote *zygote, struct sandbox_init *ret_init, struct error *ret_error);

#endif
