/*
 * snapshot.h - the files that cells write, and beside them what they were after the last commit.
 *
 * Cells write the live files, of which there is one set for the whole session: so a
 * file has the same inode in every cell, whether by its path, a descriptor or a
 * mapping. The kept files are a copy. When a cell is committed the copy is brought up
 * to date. When a cell is rolled back the live files become what they were, in the
 * same inodes, wherever in the tree those are by then.
 *
 * What a cell has changed is found by ctime, which no call sets: a file whose ctime
 * is that of the last look is as it was then. Three kinds of change have no ctime of
 * their own:
 *
 *     within a tick of the clock    what changed in the tick in which cells began to
 *                                   write again (snapshot_begin()) counts as changed
 *     by a new mapping              of pages that were read before: to make a mapping
 *                                   moves the atime (the live files are mounted with
 *                                   strictatime), and that counts as a change
 *     by an older mapping           the caller names such files (snapshot_suspect())
 *
 * All folders are tmpfs, where inode numbers are not given twice. They must not be
 * changing during a call. A call that fails may have done a part: it can be made
 * again. Whiteouts and attributes of an overlay's upper folder are files and
 * attributes like others.
 *
 * See: docs/sandbox.md.
 */
#ifndef PETRI_SANDBOX_FILES_SNAPSHOT_H
#define PETRI_SANDBOX_FILES_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Folders, borrowed for the life of a snapshot. */
struct snapshot_folders {
    int live;       /* what cells write; it itself is never changed */
    int live_aside; /* an empty one, on the same file system */
    int kept;       /* the copy; empty at first */
    int kept_aside; /* an empty one on its file system, which may be another than that of live */
    int guards;     /* beside live: files that are to be the same ones even when all their names have gone */
    int versions;   /* beside kept: earlier ones of it, each in a folder of its own; -1 where none is asked for */
};

struct snapshot;

/* Copies what is live. 0 with *ret the caller's, or -errno. */
int snapshot_create(const struct snapshot_folders *folders, struct snapshot **ret);
void snapshot_destroy(struct snapshot *snapshot);

/*
 * What the kept files are at a time: a version. It costs nothing until they change; then it gets a tree of its own, in
 * which each file is the very one of the kept files until that changes, too. So what several versions have in common is
 * there once, and a file that changes is copied whole.
 */
struct snapshot_version;

/* The present version, with a reference that is the caller's: snapshot_forget(). It has to be given up before the
 * snapshot is destroyed. NULL on ENOMEM. */
struct snapshot_version *snapshot_keep(struct snapshot *snapshot);
void snapshot_forget(struct snapshot_version *version);

/*
 * Has a version's files stand in a folder of their own, as they are, until snapshot_unpin(), whatever the kept files
 * become: for an overlay over them. ret_number: the folder's name below versions, never 0. It costs a link for each
 * file the first time. 0; -ESTALE where the version is lost; or -errno.
 */
int snapshot_pin(struct snapshot_version *version, uint64_t *ret_number);
void snapshot_unpin(struct snapshot_version *version);

/*
 * A version of the files of a pinned one, with what a cell has in a layer over them: layer_fd, and below, the folders
 * below both, the notebook's among them; -1 ends these. As snapshot_keep() ret is the caller's. Costs a link for each
 * file, and the bytes of the layer. 0; -ESTALE where the version is lost; or -errno.
 */
int snapshot_branch(struct snapshot_version *base, int layer_fd, const int *below, struct snapshot_version **ret);

/* A path that a version is to be without, below "folder" of the layer. */
struct snapshot_given_up {
    const char *path;
    bool is_gone; /* nothing of the version hides what the host has there */
};

/*
 * A version of the files of another one, with nothing at n paths that hides what the notebook's folder has there: no
 * file, no whiteout, and no mark of a folder. What is neither, or has more names than one, stays. As snapshot_keep()
 * ret is the caller's; NULL where nothing is there to go. It costs a link for each file. 0; -ESTALE where the version
 * is lost; or -errno.
 */
int snapshot_without(struct snapshot_version *base, struct snapshot_given_up *rows, size_t n,
                     struct snapshot_version **ret);

/* Where its files are: a folder's name below versions; "" where they are the kept ones alone. Until the next call. */
const char *snapshot_version_name(const struct snapshot_version *version);

/*
 * Makes the kept files those of a version, in some renames; snapshot_begin() and snapshot_restore() are to follow,
 * which makes the live ones equal to them. Nothing may have been written since the last commit or restoring. 0; -ESTALE
 * where the version is lost, for want of memory; or -errno. After any other failure than these two the snapshot must
 * not be used any more.
 */
int snapshot_switch(struct snapshot_version *version);

/* Brings the copy up to date with the live files. Costs a look at each name, and the bytes of what has changed. 0 or
 * -errno. */
int snapshot_commit(struct snapshot *snapshot);

/* Makes the live files equal to the copy again. 0 or -errno. */
int snapshot_restore(struct snapshot *snapshot);

/* Whether a folder has got back another mode or owner since the last call: what has it mounted may go on with the one
 * before. */
bool snapshot_take_access(struct snapshot *snapshot);

/* Live files may be written from now on, which none was since the last commit or restoring. It may be said again; where
 * it isn't said, the next look takes each file for changed. */
void snapshot_begin(struct snapshot *snapshot);

/* Has the next look compare the contents of a live file, whatever its times say. */
void snapshot_suspect(struct snapshot *snapshot, ino_t live);

/* Whether a live file is as it was at the last commit, and the kept file of this number its copy. False where that
 * takes a look at their contents. */
bool snapshot_is_unchanged(const struct snapshot *snapshot, const struct stat *live, ino_t kept);

/* Says that the caller has found the two to hold the same bytes, so that the next commit doesn't compare them again;
 * nothing may write to either before it. Files that are no pair are left alone. */
void snapshot_note_same(struct snapshot *snapshot, ino_t live, ino_t kept);

/*
 * Makes sure that restoring finds these live files of the last commit even if a
 * cell removes all their names: each gets another name, in guards. A process that
 * has such a file open has the restored file open, too. Guards of others are removed, and a file that has no other
 * name with its guard. live may have numbers of no such file, and is sorted by it.
 * 0 or -errno.
 */
int snapshot_guard(struct snapshot *snapshot, ino_t *live, size_t n);

/* Takes the contents of guarded files that have no other name, but for the ones with these numbers, which are sorted:
 * only versions have them, and a copy of their contents. 0 or -errno. */
int snapshot_empty_guards(const struct snapshot *snapshot, const ino_t *live, size_t n);

/* Whether a live file has a guard: one name more than cells have given it. */
bool snapshot_is_guarded(const struct snapshot *snapshot, ino_t live);

/* Whether a live file of the last commit stands at a name that it had then. */
bool snapshot_stands(const struct snapshot *snapshot, ino_t live);

/* The inode number of a live file's copy; 0 where it has none. */
ino_t snapshot_kept(const struct snapshot *snapshot, ino_t live);

#endif
