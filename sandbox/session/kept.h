/*
 * kept.h - images that are kept when later cells are committed, so that the session can go back to them.
 *
 * session_keep(), session_restore(), session_forget(), session_lacks_descriptors() of sandbox.h are here. A kept image
 * is a copy of the memory that its session had, so all of them share with each other and with the session what has not
 * changed since. Of what an image does not have for itself (files without a name, flags of connections:
 * image_save_shared()) one image's state is in place at a time, the current one's; each other one has its own saved.
 */
#ifndef PETRI_SANDBOX_SESSION_KEPT_H
#define PETRI_SANDBOX_SESSION_KEPT_H

#include "sandbox/files/snapshot.h"
#include "sandbox/sandbox.h"

struct cell;
struct errand;
struct image;
struct session;

struct kept_image {
    struct kept_image *next; /* of the session's */
    struct image *image;     /* a reference */
    struct snapshot_version *files;
    ino_t *held; /* the live files that it has open or mapped, sorted; owned */
    size_t n_held;
    uint64_t own_bytes; /* kept_own_bytes() */
};

/* What all images have together of anonymous memory, at most: for session_kept_bound() without a control group. */
struct kept_bound {
    uint64_t bytes;
    bool is_exact;          /* it was measured, and no image has come or gone since that is not known of */
    struct errand *reading; /* what is on its way to measure it; or NULL */
    bool is_outdated;       /* an image or a cell's memory may have gone since that has begun */
    uint64_t added_bytes;   /* that have come since */
};

/* Whether an image is kept: then what is saved of it is to stay. */
bool kept_has(const struct session *session, const struct image *image);

/* The session goes on without an image to another one, by a commit or by going there: kept ones give up what nothing
 * but they would have. */
void kept_leave(const struct session *session, struct image *image, const struct image *to);

/* The keepers of kept images, at most max of them, some of them twice. How many. */
size_t kept_list_keepers(const struct session *session, pid_t *ret_pids, size_t max);

/* Keeps the bound: when there is the first image, and no other; when there are so many bytes more, of memory that none
 * had; when the session's image is about to be what a frozen cell has left, or that is kept; and before a kept image is
 * given up. */
void kept_bound_begin(struct session *session);
void kept_bound_add(struct session *session, uint64_t bytes);
void kept_bound_add_cell(struct cell *cell);
void kept_bound_drop(struct session *session, const struct image *image);

/* What each image has for itself: page tables, shared memory, and what is recorded of it in our own memory, as what
 * waits in its pipes. */
uint64_t kept_own_bytes(const struct image *image);

/* Forgets all. */
void kept_fini(struct session *session);

#endif
