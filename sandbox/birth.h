/*
 * birth.h - the two kinds of process that the nursery bears: a sandbox's pid 1, and the worker.
 *
 * Each sets itself up, reports {step, errno} over a close-on-exec pipe, and
 * becomes what it is for.
 */
#ifndef PETRI_SANDBOX_BIRTH_H
#define PETRI_SANDBOX_BIRTH_H

#include "mounts.h"
#include "nursery.h"

/* A sandbox's pid 1 whose namespaces are there, and that waits to be told which layer its files are to be. */
struct embryo {
    pid_t pid;   /* in our pid namespace */
    int go_fd;   /* takes the layer */
    int said_fd; /* gives the report */
};

/* Makes the namespaces of a sandbox, with all that doesn't depend on the layer. 0 or -errno. */
int birth_begin(const struct template *template, struct embryo *ret_embryo, struct sandbox_error *ret_error);

/* Gives an embryo its layer, which exists: it becomes a sandbox. Uses the embryo up. 0 or -errno. */
int birth_finish(struct embryo *embryo, uint64_t layer, struct sandbox_error *ret_error);

/* Starts the worker, as a child of our parent, with the view and without the privileges of a cell. 0 or -errno. */
int birth_worker(const struct template *template, const struct nursery_boot *boot, uint64_t layer, pid_t *ret_pid,
                 struct sandbox_error *ret_error);

#endif
