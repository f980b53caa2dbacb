/*
 * beside.h - places for cells beside the session's own: what those have for themselves that its own have of it.
 *
 * A place has a control group and an instance of inotify. It is free again once the
 * sandbox of the cell that had it is gone, with all that ran in it, and its memory: else
 * what Linux is still freeing would be taken for the next cell's beginning.
 * session_settle() and session_has_place() of sandbox.h are here.
 */
#ifndef PETRI_SANDBOX_SESSION_BESIDE_H
#define PETRI_SANDBOX_SESSION_BESIDE_H

#include "base/cleanup.h"
#include "sandbox/files/opened.h"
#include "sandbox/sandbox.h"
#include "sandbox/session/killed.h"

#include <stdint.h>

struct errand;

struct beside_place {
    bool taken;           /* a cell has it */
    bool has_left;        /* an image of a cell of it was kept: some of its group's memory may be of images */
    int ending_fd;        /* pidfd of pid 1 of the sandbox of the cell that had it last, while there is one; else -1 */
    struct killed killed; /* of its cells: the last to have a cell's memory takes a while to end */
    uint64_t layer;       /* of that cell: removed when the sandbox is gone */
    struct snapshot_version *files; /* pinned for that layer until then; or NULL */
    int files_fd;                   /* where layers are: zygote.h; borrowed */
    struct errand *removing;        /* removes it; NULL for none */
    struct opened opened;           /* watches on the notebook's folder as its cell sees it */
    pid_t seed;                     /* a copy of image 0 in the place's group, a child of ours; 0 until it is needed */
    int seed_memory_fd;             /* of its address space */
};

void beside_init(struct session *session);
void beside_fini(struct session *session);

/*
 * Makes a copy of image 0, as image_copy_keeper(), in the place's control group. We would wait while Linux moves a
 * process into another group (for a grace period of RCU); so one copy that is in this group is kept, and the others are
 * its copies.
 */
int beside_copy_first(struct session *session, int place, pid_t *ret_keeper, int *ret_memory_fd) MUST_CHECK;

/* Whether a process is such a kept copy, or one that is ending. */
bool beside_has(const struct session *session, pid_t pid);

/* session_settle() of the places. True while there is more to come. */
bool beside_settle(struct session *session);

/* Takes a free place: its index, or -EAGAIN. */
int beside_take(struct session *session) MUST_CHECK;

/* Gives a place back, with what is left of its cell: init_fd, the pidfd of its sandbox's pid 1 (-1 for none; stolen),
 * its layer, and the pinned version of the files that this lies over (NULL for none; stolen). */
void beside_leave(struct session *session, int place, int init_fd, uint64_t layer, struct snapshot_version *files);

#endif
