/*
 * spawn.h - the kinds of process that the zygote spawns: the cage's pid 1, a sandbox's, and the worker.
 *
 * Each sets itself up, reports {step, errno} over a pipe, and becomes what it
 * is for.
 */
#ifndef PETRI_SANDBOX_SPAWN_SPAWN_H
#define PETRI_SANDBOX_SPAWN_SPAWN_H

#include "sandbox/mounts/mounts.h"
#include "sandbox/spawn/init.h"
#include "sandbox/spawn/worker_fds.h"

/* What sandboxes are made from. */
struct spawn_context {
    struct template *template;
    struct init_kept kept;
    pid_t cage;   /* its pid 1; 0 while there is none */
    char *stacks; /* of those that go into the cage; stay as long as the process */
};

/* A sandbox's pid 1 whose namespaces are there, and that waits to be told which layer its files are to be. */
struct prepared {
    pid_t pid;         /* in our pid namespace */
    pid_t pid_in_cage; /* as keepers know it */
    int start_fd;      /* takes the layer */
    int status_fd;     /* gives the report */
};

/*
 * Makes the cage, where keepers live: a user and a pid namespace, of which those
 * of all sandboxes are children, an empty root, no network. 0 or -errno.
 */
int spawn_cage(struct spawn_context *context, struct error *ret_error);

/* Makes the namespaces of a sandbox in a cage, with all that doesn't depend on the layer. 0 or -errno. */
int spawn_prepare(const struct spawn_context *context, struct prepared *ret_prepared, struct error *ret_error);

/* Ends a prepared sandbox that is not needed. */
void spawn_discard(struct prepared *prepared);

/* Gives a prepared sandbox its layer, which exists, or the live files, and awaits its report. Uses it up. 0 or -errno.
 */
int spawn_finish(struct prepared *prepared, uint64_t layer, struct error *ret_error);

/* Starts the worker, as a child of our parent, with the view and without the privileges of a cell. 0 or -errno. */
int spawn_worker(const struct template *template, const struct worker_fds *worker_fds, pid_t *ret_pid,
                 struct error *ret_error);

#endif
