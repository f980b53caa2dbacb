/*
 * zombies.h - children of a cell that have ended, and that it has not waited for yet.
 *
 * A cell's other processes end with it. The next cell must find its worker's
 * children as zombies, each with its id and its status: a program that waits for a
 * child which isn't there believes that it still runs, or that it ended well. So
 * each cell's worker clones them again, and each ends at once as it did before.
 * Their own children are gone.
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
