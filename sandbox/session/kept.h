/*
 * kept.h - images that are kept when later cells are committed, so that the session can go back to them.
 *
 * session_keep(), session_restore(), session_forget() of sandbox.h are here. A kept image is a
 * copy of the memory that its session had, so all of them share with each other
 * and with the session what has not changed since. Of what an image does not have for itself (files
 * without a name, flags of connections: image_save_shared()) one image's state is in
 * place at a time, the current one's; each other one has its own saved.
 */
#ifndef PETRI_SANDBOX_SESSION_KEPT_H
#define PETRI_SANDBOX_SESSION_KEPT_H

#include "sandbox/files/snapshot.h"
#include "sandbox/sandbox.h"

struct cell;
struct image;
struct session;

struct kept_image {
    struct kept_image *next; /* of the session's */
    struct image *image;     /* a reference */
    struct snapshot_version *files;
    ino_t *held; /* the live files that it has open or mapped, sorted; owned */
    size_t n_held;
};

/* Whether an image is kept: then what is saved of it is to stay. */
bool kept_has(const struct session *session, const struct image *image);

/* The session goes on without an image to another one, by a commit or by going there: kept ones give up what nothing
 * but they would have. */
void kept_leave(const struct session *session, struct image *image, const struct image *to);

/* The keepers of kept images, at most max of them, some of them twice. How many. */
size_t kept_list_keepers(const struct session *session, pid_t *ret_pids, size_t max);

/* To be called when there is the first image, and no other: session_kept_bytes() begins at 0. */
void kept_measure_base(struct session *session);

/* Forgets all. */
void kept_fini(struct session *session);

#endif
