/*
 * writeback.h - the writable mode: files that cells change in the notebook's folder are written to the host's folder.
 *
 * When a cell has ended within its limits, all of its changes are made there, or
 * none (transaction.h), and cells see the host's files from then on. Of some
 * files the session keeps its own version: files that are open or mapped, files
 * that are not written because of their type or name, and files that could not be
 * written, which the next cell tries again. For each of these petri remembers the
 * host's version, so that changes by other programs are never overwritten.
 *
 * See: docs/files.md, "The writable mode"; writing.h.
 */
#ifndef PETRI_WRITEBACK_H
#define PETRI_WRITEBACK_H

#include "sandbox/sandbox.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

enum {
    WRITING_FILES_MAX = 100000, /* of a cell: more are never written */
    WRITEBACK_PATH_BYTES = 4096,
};

/* What that folder's name (aside) has behind the configured one of copies. */
extern const char writeback_aside[];

struct writeback {
    bool on;
    int folder_fd;         /* owned; -1 where it is off */
    const json_t *allowed; /* patterns of names that are written although programs look for them; borrowed; or NULL */
    const char *aside;     /* the folder in it for copies of what is no part of the session; borrowed, set by the
                              caller; NULL or "" for none */
    int64_t began_ns;      /* when the last cell was started; CLOCK_REALTIME */
    int64_t cell;          /* its number, from 1 */
    int64_t lost_ns;       /* when the first cell was started whose changes are not known; 0 for none */
    json_t *own;           /* by path (writeback_path()), of which the session has its own version, the host's version:
                              writeback.c; owned */
    json_t *written;       /* {path: the host's file or folder as petri wrote it last}; owned */
    json_t *state;         /* what writeback_state() has given last; owned, or NULL */
};

/* Sets it off: then all functions do nothing. */
void writeback_init(struct writeback *writeback);

/* Turns it on; folder_fd is duplicated. 0 or -errno. */
int writeback_turn_on(struct writeback *writeback, int folder_fd, const json_t *allowed);
void writeback_fini(struct writeback *writeback);

/* A cell is started: it may not see changes that other programs make from now on. */
void writeback_cell_starts(struct writeback *writeback);

/*
 * Whether the host's file at a path, st, is the one that the session's version is
 * based on, so that it may be replaced. skew_ns: how far the clock of the host's
 * file system is ahead.
 */
bool writeback_may_replace(const struct writeback *writeback, const char *path, const struct stat *st, int64_t skew_ns);

/*
 * Whether another program may have moved a folder, st, to its path, which is on the way to a file, since the session
 * has seen that file. That sets the ctime only; adding or removing a name in it sets mtime and ctime to the same value.
 * of_file: the stat(2) of the file.
 */
bool writeback_was_moved(const struct writeback *writeback, const char *folder, const struct stat *st, const char *file,
                         const struct stat *of_file, int64_t skew_ns);

/* The path of a key of `own`, which is another text where the path is not UTF-8. Returns key or buf. */
const char *writeback_path(const char *key, char buf[WRITEBACK_PATH_BYTES]);

/* Whether it has to be written again; of ret_file path, change and same are set, the rest is 0. */
bool writeback_is_due(const struct writeback *writeback, const char *path, struct cell_file *ret_file);

/*
 * What belongs to the session's present state, by path: of which it has its own version, and what has to be written
 * again. For writeback_go(), and not to be changed. States that have a change share its object, by which they know once
 * it is made. A new reference; NULL where there is nothing.
 */
json_t *writeback_state(struct writeback *writeback);

/*
 * The same of what a branch leaves: all that its frozen cell has changed has to be written, and before, that of the
 * state that it began in at began_ns (CLOCK_REALTIME), which is borrowed; or NULL. More than WRITING_FILES_MAX are
 * never written, nor is what can't be listed: then it is before alone.
 */
json_t *writeback_state_of(const struct writeback *writeback, const struct cell *cell, int64_t began_ns,
                           json_t *before);

/*
 * Of what belongs to a state that is kept, these paths have been written, or are another program's by now: its cells
 * are to see the host's, unless they have the file open. ret_paths is the caller's: free(); its texts are state's. How
 * many, 0 also where there is no memory.
 */
size_t writeback_list_settled(json_t *state, const char ***ret_paths);

/* What belongs to the state once some of n paths are given up. A new reference; NULL where there is nothing. */
json_t *writeback_without(json_t *state, const char *const *paths, const bool *is_given_up, size_t n);

/* The session has gone to a state with these: of other paths it has no version of its own. NULL for none. */
void writeback_go(struct writeback *writeback, json_t *state);

/* petri has written the host's file, st: whatever state the session goes to, no other program has changed it so far. */
void writeback_note_host(struct writeback *writeback, const char *path, const struct stat *st);

/* petri has made, replaced or removed what is in a folder of the host's, which was before, and is st now; or has made
 * the folder itself: before is NULL. So it is known when another program has changed the folder last. */
void writeback_note_folder(struct writeback *writeback, const char *path, const struct stat *before,
                           const struct stat *st);

/* A cell has changed the path once more: what kept states have there to be written is another change. */
void writeback_note_changed(struct writeback *writeback, const char *path);

/* What was due there was made in the host's folder. st: the host's file as it was written; NULL where it was removed,
 * or another program's was kept. */
void writeback_note_made(struct writeback *writeback, const char *path, const struct stat *st);

/* A later version than the one that was due was written, st. */
void writeback_note_overtaken(struct writeback *writeback, const char *path, const struct stat *st);

/* The session's version has been written; st is the host's file. */
void writeback_note_written(struct writeback *writeback, const char *path, const struct stat *st);

/* The session has its own version; due: it has to be written later. cell: the number of the cell that has changed it
 * last. */
void writeback_note_own(struct writeback *writeback, const char *path, enum cell_change change, bool due, int64_t cell);

/* The session's version, a file of so many bytes or a link (0), is nowhere on the disk. After writeback_note_own(). */
void writeback_note_unsaved(struct writeback *writeback, const char *path, uint64_t bytes);

/* The session has it no more, or it is saved. */
void writeback_note_saved(struct writeback *writeback, const char *path);

/* Whether it is nowhere on the disk; then ret_bytes is its size. */
bool writeback_is_unsaved(const struct writeback *writeback, const char *path, uint64_t *ret_bytes);

/* What is due at a path comes in the place of what a cell of that number had removed there. After writeback_note_own().
 */
void writeback_note_over(struct writeback *writeback, const char *path, int64_t cell);

/* Whether it does so, or is that removal; then ret_cell is the number. */
bool writeback_is_over(const struct writeback *writeback, const char *path, int64_t *ret_cell);

/* What is due at a path waits until an unsaved file is saved, too. After writeback_note_own(). */
void writeback_note_waits(struct writeback *writeback, const char *path, const char *awaited);

/* The path of the unsaved file for which it waits, borrowed or in buf; NULL for none, and where that is saved or gone.
 */
const char *writeback_awaited(const struct writeback *writeback, const char *path, char buf[WRITEBACK_PATH_BYTES]);

/* The number of the cell that has changed a path of the session's own last. 0: not known. */
int64_t writeback_cell_of(const struct writeback *writeback, const char *path);

/*
 * The cell's changes are not known: files that have changed on the host since
 * it was started are not replaced any more.
 */
void writeback_lose_track(struct writeback *writeback);

/* The host's file was changed by another program and is kept; the session's version was written under another name. */
void writeback_note_conflict(struct writeback *writeback, const char *path);

/* Whether the session's version is written, under this name or another, so that cells may see the host's file again. */
bool writeback_is_settled(const struct writeback *writeback, const char *path);

/*
 * Notes which of the host's files a frozen cell has open: cells go on seeing
 * these at their paths, even after the host has replaced them.
 */
void writeback_look_at_held(struct writeback *writeback, const struct cell *cell);

/* The session has no own version of path any more. */
void writeback_forget(struct writeback *writeback, const char *path);

#endif
