/*
 * session_files.h - the files of a session: kept when a cell is committed, put back when it is rolled back.
 *
 * The live files are below one overlay, which all the session's cells share, and
 * are put back below it while it is mounted. Linux has then to forget what it
 * knows of them; what the image has open it doesn't forget. So each name that the
 * cell has changed is looked at through the overlay, and where it is not what it
 * should be, the folder is mounted anew: then files have another device number, and
 * nothing else is different.
 *
 * See: snapshot.h, layers.h; overlayfs.rst, "Changes to underlying filesystems".
 */
#ifndef PETRI_SANDBOX_SESSION_SESSION_FILES_H
#define PETRI_SANDBOX_SESSION_SESSION_FILES_H

#include "sandbox/files/snapshot.h"
#include "sandbox/sandbox.h"

#include <stdint.h>
#include <time.h>

struct cell;
struct image;
struct session;

/* Names below the notebook's folder that are to be looked at. */
struct names {
    size_t n;
    char **path; /* owned */
    int failed;  /* -errno where not all are here */
};

/* The descriptors of folders are valid where snapshot is not NULL. */
struct session_files {
    struct snapshot_folders folders;
    struct snapshot *snapshot;
    int view_fd;           /* of the overlay, for fsconfig(2); or -1 */
    struct names released; /* by the cell that is to be committed: cell_release_file() */
    ino_t
        *held; /* the live files that it has open or mapped, sorted, from the first time that they are needed; owned */
    size_t n_held;
    int failed; /* -errno where the last cell's files could not be kept: there is nothing to put back */
};

/* The started worker is stopped: its files are the session's first ones. 0 or -errno. */
int session_files_begin(struct session *session);
void session_files_end(struct session *session);

/* A cell that writes the live files is frozen, and has its result: finds out which mapped files it may have written. */
void session_files_freeze(const struct cell *cell);

/* A cell's files become the session's, its result being the new image. Nothing of it runs any more. */
void session_files_commit(const struct cell *cell);

/* cell_release_file() of a frozen cell that writes the live files. */
int session_files_release(struct cell *cell, const char *path);

/* cell_list_held() of a frozen cell. */
int session_files_list_held(const struct cell *cell, cell_held_handler *handler, void *arg);

/* The session's files become what they were before a cell. Nothing of it runs any more. 0 or -errno. */
int session_files_restore(const struct cell *cell);

/* The session's files become those of a version, for which no cell may be writing. 0; -ESTALE where the version is
 * lost; or another -errno, after which there is nothing to go on with. */
int session_files_go(struct session *session, struct snapshot_version *version);

/* A path of a cell's, as Linux tells it, below the notebook's folder; or NULL. Borrowed of path. */
const char *session_files_below_folder(const struct session *session, const char *path);

/* The numbers of the live files that the current image has open or mapped, and numbers that are none's, sorted.
 * ret_numbers is the caller's. 0 or -errno. */
int session_files_find_held(const struct session *session, const struct image *image, ino_t **ret_numbers,
                            size_t *ret_n);

/* Has the notebook's folder shown as it is now: the host may have put other files in the place of those that an earlier
 * cell has looked at. Some microseconds. 0 or -errno. */
int session_files_refresh(struct session *session);

/* What they take, with those of cells beside: bytes, and inodes. */
void session_files_measure(const struct session *session, uint64_t *ret_bytes, uint64_t *ret_inodes);

/* The bytes of the session's files, of the copies of them that are kept, or of the files of cells beside. */
enum session_files_of { SESSION_FILES_LIVE, SESSION_FILES_KEPT, SESSION_FILES_BESIDE };
uint64_t session_files_bytes(const struct session *session, enum session_files_of of);

/* Whether cells beside have written half of what they may write together, or more. */
bool session_files_beside_are_full(const struct session *session);

#endif
