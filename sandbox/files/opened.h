/*
 * opened.h - which files of the notebook's folder a cell opens, seen from outside.
 *
 * Watches are on the folders of the cell's overlay, because overlayfs reports opens
 * of its own inodes and not of those below. The session's own cells share one overlay
 * and run one after the other, and each other cell has its own: so the watches see this
 * cell alone. Those of the session's own cells stay from cell to cell, as long as no
 * folder is made, moved or removed, by a cell or by the host: so they cost a cell the
 * same whatever lies in the notebook's folder.
 *
 * See: inotify(7), overlayfs.rst.
 */
#ifndef PETRI_SANDBOX_FILES_OPENED_H
#define PETRI_SANDBOX_FILES_OPENED_H

#include "sandbox/sandbox.h"

#include <time.h>

enum {
    OPENED_FOLDERS = 64,
    OPENED_FILES = 1000,
    OPENED_ENTRIES = 20000, /* that are read to find folders */
};

struct opened {
    int fd;      /* of inotify, or -1 until the first folder is watched */
    int host_fd; /* what the host has below the folder, or -1; borrowed while n > 0 */
    size_t n;
    struct {
        int watch;
        struct timespec changed; /* the host's folder below it, when the watch was made; 0 where there is none */
        char *path;              /* below the folder; "" for itself; owned */
    } folder[OPENED_FOLDERS];
    size_t entries; /* that were read */
    bool left_out;  /* folders that are not watched */
    bool stale;     /* a cell has made, moved or removed folders since */
};

void opened_init(struct opened *opened);
void opened_fini(struct opened *opened);

/*
 * Watches the folder at folder_fd and those in it, the upper ones first, and
 * nothing else any more; host_fd is what the host has below it, or -1. 0 or
 * -errno, then nothing is watched.
 */
int opened_watch(struct opened *opened, int folder_fd, int host_fd) MUST_CHECK;

/* A cell is about to begin: what was opened before does not count. Whether the watches can stay; where not, or where
 * there are none, opened_watch(). */
bool opened_renew(struct opened *opened);

/* Whether the host has changed a watched folder since: there may be folders in it that are not watched. */
bool opened_is_outdated(const struct opened *opened);

/* Ends the watches: they hold inodes of the overlay. */
void opened_forget(struct opened *opened);

/*
 * The paths that were opened since then, each once, sorted: ret_paths and its texts
 * are the caller's, as one block: free(). 1, 0 where there may have been more,
 * -EBADF where nothing is watched, or -errno.
 */
int opened_take(struct opened *opened, char ***ret_paths, size_t *ret_n) MUST_CHECK;

#endif
