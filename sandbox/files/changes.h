/*
 * changes.h - the files that a cell has created, changed and deleted.
 *
 * What lies over the notebook's folder when the cell has ended (upper), what lay
 * over it before (base), and what is below both (hides, folder). Of a cell with a layer of its
 * own all that is in the layer is its, in overlayfs' format; where the upper ones
 * are the live files, it is what differs from the base.
 */
#ifndef PETRI_SANDBOX_FILES_CHANGES_H
#define PETRI_SANDBOX_FILES_CHANGES_H

#include "sandbox/files/snapshot.h"
#include "sandbox/sandbox.h"

enum { CHANGES_HIDES = 3 };

struct changes_options {
    int upper_fd;              /* must not be changing meanwhile */
    int base_fd;               /* -1 for nothing */
    const int *hides;          /* layers between the base and the folder, the upper one first, CHANGES_HIDES at most:
                                  what cells don't see of it, or see as it was; ends with -1; NULL for none */
    int folder_fd;             /* the notebook's folder below all of them; -1 for none */
    bool folders;              /* new folders are told as well, before what is in them */
    bool live;                 /* the upper ones are the live files, and the base is the copy of what they were */
    bool names_only;           /* no contents are read: what may have changed counts as changed, also whiteouts of
                                  live files that are no more; and -E2BIG where that is all of a folder of the host's */
    struct snapshot *snapshot; /* live: knows which files may have changed, and its guards are no names; or NULL */
};

/*
 * Calls handler for each file, in no order, until it returns other than 0.
 * Folders are no files: one that was deleted is one row, one that is too deep
 * to be looked into is a row of its own, and a new one only where it is asked for. Returns 0, what the handler
 * returned, or -errno. Blocks for as long as it takes to read the folders, and to compare
 * what may have changed; the snapshot is told what has not.
 */
int changes_list(const struct changes_options *options, cell_change_handler *handler, void *arg) MUST_CHECK;

/* What a cell found at a path before it changed anything; upper_fd isn't used. False for nothing. */
bool changes_look_before(const struct changes_options *options, const char *path, struct stat *ret_st);

/* Opens a regular file of those, for reading. A descriptor; -ENOENT where there was none, -EINVAL where it was no
 * regular file, or -errno. */
int changes_open_before(const struct changes_options *options, const char *path) MUST_CHECK;

#endif
