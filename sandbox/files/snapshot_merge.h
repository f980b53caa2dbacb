/*
 * snapshot_merge.h - what a cell has in a layer of its own becomes part of the files that the layer lies over.
 *
 * The result is what an overlay of both shows, in the format of what the layer lies over: of "private" plain files; of
 * "folder" again a layer over the notebook's folder, with a whiteout only where that has something to hide.
 *
 * See: layers.h, overlay.h; overlayfs.rst, "Whiteouts and opaque directories".
 */
#ifndef PETRI_SANDBOX_FILES_SNAPSHOT_MERGE_H
#define PETRI_SANDBOX_FILES_SNAPSHOT_MERGE_H

#include "sandbox/sandbox.h"

#include <sys/types.h>

/* Is told of a regular file in whose place the layer has one: its number in the tree, and that of the one that is there
 * afterwards. 0 or -errno, which ends all. */
typedef int snapshot_merge_replaced(void *arg, ino_t before, ino_t made);

/* Folders, borrowed for the call. */
struct snapshot_merge_folders {
    int layer;                         /* of a cell of which nothing runs any more; it stays as it is */
    int to;                            /* a tree with "private" and "folder" */
    int aside;                         /* an empty one on the same file system as that, and empty again afterwards */
    const int *below;                  /* what lies below both, the notebook's folder among it; ends with -1 */
    snapshot_merge_replaced *replaced; /* or NULL */
    void *arg;
};

/* Takes as long as what the layer has takes to be copied. 0; or -errno, then a part of it is done. */
int snapshot_merge_layer(const struct snapshot_merge_folders *folders) MUST_CHECK;

#endif
