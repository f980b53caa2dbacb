/*
 * changes.h - what a layer has of its own: the files that its cell has created, changed and deleted.
 *
 * A layer lies over what was committed before it (base), and that over the
 * notebook's folder. Where layers are empty at first, all that is in one is its
 * cell's, in overlayfs' format; where they begin as copies (layers.h), it is
 * what differs from the base.
 */
#ifndef PETRI_SANDBOX_CHANGES_H
#define PETRI_SANDBOX_CHANGES_H

#include "sandbox.h"

#include <time.h>

struct changes_options {
    int upper_fd;          /* the layer; nobody may be changing it */
    int base_fd;           /* what it lies over; -1 for nothing */
    int folder_fd;         /* the notebook's folder below both; -1 for none */
    bool copied;           /* the layer began as a copy of the base */
    struct timespec since; /* copied: what changed earlier, by its ctime, was copied as it was */
};

/*
 * Calls handler for each file, in no order, until it returns other than 0.
 * Folders are no files: one that was deleted is one row, one that is too deep
 * to be looked into is a row of its own. Returns 0, what the handler returned,
 * or -errno. Blocks for as long as it takes to read the folders, and of a
 * copied layer the files that changed.
 */
int changes_list(const struct changes_options *options, cell_change_handler *handler, void *arg) SANDBOX_MUST_CHECK;

/*
 * Opens a regular file as it was before the layer, for reading; base_fd and
 * folder_fd are as above. A descriptor; -ENOENT where there was none, -EINVAL
 * where it was no regular file, or -errno.
 */
int changes_open_before(int base_fd, int folder_fd, const char *path) SANDBOX_MUST_CHECK;

#endif
