/*
 * writeback.h - the writable mode: what a session has written to the notebook's folder goes to the host's folder.
 *
 * When a cell has finished within its limits its changes are made there, all or
 * none (transaction.h), and cells see the host's files from then on. What stays
 * the session's own is remembered: files that are open or mapped, what is not
 * written because of its kind or name, and what could not be written, which the
 * next cell tries again. For each of these it is known what the host had, so that
 * changes by other programs are never overwritten.
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

struct writeback {
    bool on;
    int folder_fd;         /* owned; -1 where it is off */
    const json_t *allowed; /* names that are written although programs look for them: patterns, borrowed; or NULL */
    int64_t began_ns;      /* when the last cell was started; CLOCK_REALTIME */
    int64_t lost_ns; /* when the first cell was started of which it is not known what it has changed; 0 for none */
    json_t *own;     /* paths that are the session's own, and what the host had there; owned */
};

/* Off: the functions below do nothing then. */
void writeback_init(struct writeback *writeback);

/* On: folder_fd is copied. 0 or -errno. */
int writeback_turn_on(struct writeback *writeback, int folder_fd, const json_t *allowed);
void writeback_fini(struct writeback *writeback);

/* A cell is started: it may not have seen what other programs change from now on. */
void writeback_cell_starts(struct writeback *writeback);

/*
 * Whether what the host has at a path is what the session's version was made from,
 * so that it may be replaced. skew_ns: how much later the clock of the host's file system is.
 */
bool writeback_may_replace(const struct writeback *writeback, const char *path, const struct stat *st, int64_t skew_ns);

/*
 * Whether a folder on the way may be another one than the cell has seen: it was moved
 * there since. That has a time of change; a name that comes or goes in it has the same
 * as its time of modification.
 */
bool writeback_was_moved(const struct writeback *writeback, const struct stat *st, int64_t skew_ns);

/* Whether it is to be written once more, and how it had changed. */
bool writeback_is_due(const struct writeback *writeback, const char *path, enum cell_change *ret_change);

/* The session and the host have the same by now, and st is the host's. */
void writeback_note_written(struct writeback *writeback, const char *path, const struct stat *st);

/* The session has another version than the host; due: which is to be written. */
void writeback_note_own(struct writeback *writeback, const char *path, enum cell_change change, bool due);

/* It is not known what the cell has changed: nothing that other programs have changed since it was started is replaced
 * any more. */
void writeback_lose_track(struct writeback *writeback);

/* The host keeps a version of its own: the session's was written there under another name. */
void writeback_note_conflict(struct writeback *writeback, const char *path);

/* Whether nothing of the session's is lost where cells see the host's: it is written, by this name or another. */
bool writeback_is_settled(const struct writeback *writeback, const char *path);

/*
 * Notes which of the host's files a frozen cell has open: by their paths cells go
 * on seeing these, also once the host has put others there.
 */
void writeback_look_at_held(struct writeback *writeback, const struct cell *cell);

/* Nothing at path is the session's own. */
void writeback_forget(struct writeback *writeback, const char *path);

#endif
