/*
 * zombies.h - children of a cell that are dead, and that nobody has waited for yet.
 *
 * A cell's other processes end with it. Its worker's children must be found dead
 * by the next cell, each under its number and with its status: a program that
 * waits for one which isn't there takes it for still running, or for one that has
 * ended well. So each cell's worker clones them again, and each of them ends at
 * once as it has ended before. What they were, and their own children, is gone.
 *
 * See: waitpid(2); clone3(2), set_tid.
 */
#ifndef PETRI_SANDBOX_IMAGE_ZOMBIES_H
#define PETRI_SANDBOX_IMAGE_ZOMBIES_H

#include "base/cleanup.h"
#include "sandbox/inject/inject.h"

/* More than these are forgotten, the oldest first: each costs every cell some calls. */
enum { ZOMBIES_MAX = 64 };

struct zombie {
    pid_t pid;  /* in the cell's pid namespace */
    int status; /* as wait(2) gives it */
};

/* All zero is none. */
struct zombies {
    size_t n;
    struct zombie zombie[ZOMBIES_MAX];
};

/* Has a stopped worker wait for its dead children; they are added. 0 or -errno. */
int zombies_reap(const struct inject_task *worker, struct zombies *zombies) MUST_CHECK;

/* Has a new worker, which has CAP_CHECKPOINT_RESTORE still, clone them, and ends them. 0 or -errno. */
int zombies_restore(const struct inject_task *worker, const struct zombies *zombies) MUST_CHECK;

#endif
