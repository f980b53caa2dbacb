/*
 * opened.h - which files of the notebook's folder a cell opens, seen from outside.
 *
 * Watches are on the folders of the cell's overlay, because overlayfs reports opens
 * of its own inodes and not of those below. The session's own cells share one overlay
 * and run one after the other, and each other cell has its own: so the watches see this
 * cell alone. Cells that run one after the other share one instance of inotify, because
 * to close one takes some milliseconds.
 *
 * See: inotify(7), overlayfs.rst.
 */
#ifndef PETRI_SANDBOX_FILES_OPENED_H
#define PETRI_SANDBOX_FILES_OPENED_H

#include "sandbox/sandbox.h"

#include <time.h>

enum { OPENED_FOLDERS = 64, OPENED_FILES = 1000 };

/* All zero is none. */
struct opened {
    int fd;      /* of inotify; borrowed while n > 0 */
    int host_fd; /* what the host has below the folder, or -1; the same */
    size_t n;
    struct {
        int watch;
        struct timespec changed; /* the host's folder below it, when the watch was made; 0 where there is none */
        char *path;              /* below the folder; "" for itself; owned */
    } folder[OPENED_FOLDERS];
    bool left_out; /* folders that are not watched */
};

/* An instance of inotify. A descriptor or -errno. */
int opened_start(void) MUST_CHECK;

/*
 * Watches the folder at folder_fd and those in it, the upper ones first;
 * host_fd is what the host has below it, or -1. Events of earlier watches that
 * were not taken are dropped. 0 or -errno; ret is the caller's; fd and host_fd
 * are borrowed until opened_fini().
 */
int opened_watch(int fd, int folder_fd, int host_fd, struct opened *ret) MUST_CHECK;

/* Whether the host has changed a watched folder since: there may be folders in it that are not watched. */
bool opened_is_stale(const struct opened *opened);
void opened_fini(struct opened *opened);

/*
 * The paths that were opened since, each once, sorted: ret_paths and its texts
 * are the caller's, as one block: free(). 1, 0 where there may have been more,
 * or -errno.
 */
int opened_take(struct opened *opened, char ***ret_paths, size_t *ret_n) MUST_CHECK;

#endif
