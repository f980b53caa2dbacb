/*
 * cell.h - a cell from within: what cell.c, assemble.c and the other sources of a cell have in common.
 */
#ifndef PETRI_SANDBOX_SESSION_CELL_H
#define PETRI_SANDBOX_SESSION_CELL_H

#include "sandbox/files/opened.h"
#include "sandbox/image/copy_ahead.h"
#include "sandbox/limits/measure.h"
#include "sandbox/limits/resources.h"
#include "sandbox/limits/watcher.h"
#include "sandbox/session/session.h"

#include <linux/capability.h>

struct errand;

/* What the session's groups, or the worker, had used when the cell began. */
struct usage_base {
    struct resources_reading reading;
    struct resources_hits hits;
    struct watcher_reading watched; /* the files in memory of the image; they are not the cell's */
    uint64_t files_bytes;           /* what the session's files took, where there is no group */
    uint64_t memory_limit_bytes;    /* 0 for none */
};

struct cell {
    struct session *session;
    struct cell *next;   /* of the session's */
    struct image *image; /* what it was made from; a reference */
    enum cell_role role;
    int place;             /* beside the session's own cell: beside.h; -1 where it has none */
    bool sandbox_asked;    /* one was requested of the zygote, and not taken yet */
    cell_is_idle *is_idle; /* see struct cell_options */
    void *idle_arg;
    bool prefaulted;          /* by the habit of the session, as far as there was time */
    bool started;             /* detached: its tasks run by themselves */
    bool ended;               /* its worker is dead and reaped */
    bool left_processes;      /* it had other processes when it was frozen */
    bool had_children;        /* it has, or may have had, other processes */
    bool wrote;               /* the live files may differ from the kept ones */
    struct sandbox_init init; /* pid 1 of its sandbox */
    ino_t pid_namespace;
    uint64_t layer;                 /* LAYER_LIVE: it writes the live files */
    struct snapshot_version *files; /* what that lies over, pinned; NULL for what is kept anyway */
    pid_t keeper;                   /* shares the memory with the cell's tasks, and outlives them */
    int memory_fd;
    pid_t worker; /* the main task, a child of ours */
    int worker_pidfd;
    int control_fd;
    int outputs[DESCRIPTORS_OUTPUTS]; /* read ends, as the session's; -1 where it writes to those */
    int names_fd; /* where its programs ask for names; -1 before it was asked for, or where there is none */
    pid_t *tids;  /* the tasks that are our tracees, the worker first */
    size_t n_tids;
    struct opened *opened;    /* watches on the notebook's folder, the session's or the place's; NULL for none */
    struct threads threads;   /* recorded by cell_freeze() */
    struct zombies zombies;   /* recorded by cell_freeze() */
    struct image *result;     /* made by cell_freeze(): what becomes the image */
    struct errand *left;      /* what reads the memory of the image that it has left; or NULL */
    int status;               /* of the worker, as waitpid(2) gave it; valid when ended */
    uint64_t faults;          /* that its worker had had when cell_copy_ahead() looked last */
    struct copy_ahead copy;   /* what that has at work */
    uint64_t copied_bytes;    /* what that has copied */
    bool misled;              /* its keeper has run code of the cell's, and was killed for that */
    struct shared_made made;  /* memory of its own that it was given */
    uint64_t memories;        /* the session's when it began */
    uint64_t granted_bytes;   /* beyond its limit of memory */
    struct usage_base base;   /* what it is measured against */
    struct cell_usage usage;  /* as measured last */
    struct errand *measuring; /* what is on its way to measure it; or NULL */
    bool measures_last;       /* that has begun since cell_measure_last() was called first */
};

/* Our ends of the pipes that the cell writes to: its own, or the session's. */
const int *cell_outputs(const struct cell *cell);

/* Where its processes end once they are killed: what has to be dead before another cell of its group is measured. */
struct killed *cell_killed(const struct cell *cell);

/* Begins to read what memory a frozen cell leaves, in sessions without a control group, before that has copies. */
void cell_begin_left(struct cell *cell);

/* At most so much anonymous memory has a frozen cell that no image had before. For sessions without a control group;
 * waits where cell_knows_left() has not said that it is known. */
uint64_t cell_new_bytes(const struct cell *cell);

/* What cells like it are about to write. */
struct habit *cell_habit(const struct cell *cell);

/* The control group that it is in. */
const struct resources_group *cell_group(const struct cell *cell);

/* Takes the sandbox that was requested of the zygote; waits for it. 0 or -errno. */
int cell_take_sandbox(struct cell *cell, struct error *ret_error);

/*
 * The capabilities, as a mask, that a worker has in its sandbox while it is made:
 * to clone threads with their ids, and to empty its bounding set. Code of a cell
 * could do nothing with them.
 */
#define CELL_MAKING_CAPABILITIES (UINT64_C(1) << CAP_CHECKPOINT_RESTORE | UINT64_C(1) << CAP_SETPCAP)

/* Makes the tasks of a cell whose sandbox is on its way, up to the point where they could be detached. */
int cell_assemble(struct cell *cell, struct error *ret_error);

/* cell_list_changes() of a cell that is at its end, however it ended, with all that may have changed. */
int cell_list_names(const struct cell *cell, cell_change_handler *handler, void *arg);

/* What was opened before the cell starts does not count; folders that have changed since are watched anew. */
void cell_renew_watches(struct cell *cell);

/* Holds the stopped tasks of a cell to limits, and begins to measure. 0 or -errno. */
int cell_limit(struct cell *cell, const struct cell_limits *limits);

/* Lets a running cell have so much beyond its limit of memory. 0 or -errno. */
int cell_grant_memory(struct cell *cell, uint64_t bytes);

/* Waits for what cell_copy_ahead() has at work, once the cell's tasks are stopped. 0, -EUCLEAN or -errno. */
int cell_end_copy_ahead(struct cell *cell);

/*
 * Ends the limit of memory once nothing of the cell runs. Until its sandbox is gone,
 * what the cell has left may take all of the limit; an image that writes one page
 * more, because we inject a call, would be killed for it.
 */
void cell_lift_limit(const struct cell *cell);

/* Takes back the OOM score that cell_limit() has set: the keeper of a committed image is no cell. */
void cell_reset_oom_score(pid_t keeper);

#endif
