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

/* Makes a sandbox over a layer that exists. ret_pid is its pid 1, in our pid namespace. 0 or -errno. */
int birth_init(const struct template *template, uint64_t layer, pid_t *ret_pid, struct sandbox_error *ret_error);

/* Starts the worker, as a child of our parent, with the view and without the privileges of a cell. 0 or -errno. */
int birth_worker(const struct template *template, const struct nursery_boot *boot, uint64_t layer, pid_t *ret_pid,
                 struct sandbox_error *ret_error);

#endif
