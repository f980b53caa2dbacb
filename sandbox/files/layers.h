/*
 * layers.h - the folders that hold what cells write.
 *
 *     live/files/{private,folder}          what the session's cells write: the same files in each
 *     live/{folder.work,parts.work}        where the overlays over the notebook's folder work
 *     live/{aside,guards}                  of the snapshot (snapshot.h)
 *     kept/files/{private,folder}          what the committed cells have written: the snapshot's copy
 *     kept/aside                           of the snapshot
 *     kept/versions/N/{private,folder}     what they were at an earlier time (snapshot.h)
 *     kept/first/{private,folder}          what was committed when the session began
 *     kept/hidden                          whiteouts over what is hidden of the notebook's folder, and what was there
 *                                          when the session began, of outputs (outputs.h)
 *     kept/{emptied,unseen}                an empty folder, where there was one, and below it a whiteout over all
 * outputs, for cells that see nothing of them kept/mountpoints                     empty folders, below the notebook's
 * folder cells/ID/{private,folder}{,.work}    the layer of a cell that is always discarded
 *
 * "folder" is what lies over the notebook's folder, in overlayfs' format: a
 * character device 0:0 is a whiteout, the attribute user.overlay.opaque hides what
 * is below a folder. "private" is {tmp,home,shm}. live, kept and cells are each a
 * tmpfs.
 *
 * Most cells write the live files. Ephemeral cells, and cells of image 0, have a
 * layer of their own over what is kept. Before Linux 6.6 a tmpfs
 * keeps no attributes, and there such a cell can't remove a folder that it has
 * found, or put another in its place.
 *
 * dir_fd is where live, kept and cells are. See: overlayfs.rst.
 */
#ifndef PETRI_SANDBOX_FILES_LAYERS_H
#define PETRI_SANDBOX_FILES_LAYERS_H

#include "sandbox/sandbox.h"

#include <sys/types.h>

enum { LAYER_NAME_SIZE = 32 };

/* In the place of a layer's number: the cell writes the live files. */
#define LAYER_LIVE UINT64_C(0)

/* Layers whose numbers have this bit lie over the first files instead of the committed ones: cells of image 0. */
#define LAYER_OVER_FIRST (UINT64_C(1) << 63)

/* Layers over a version of the files, by the number of its folder, have this in theirs; 0 is no version. */
#define LAYER_OVER_VERSION(number) ((uint64_t)(number) << 32)
enum { LAYER_VERSION_MAX = (1 << 30) - 1 };

/* What a layer lies over: "kept/files", "kept/first" or "kept/versions/N". */
void layer_base(uint64_t id, char ret_name[LAYER_NAME_SIZE]);

/* The name of a layer: "cells/ID". */
void layer_name(uint64_t id, char ret_name[LAYER_NAME_SIZE]);

/* Makes the folders, but for cells' layers; those that cells see are owned by uid and gid. 0 or -errno. */
int layers_init(int dir_fd, uid_t uid, gid_t gid);

/* Makes path, a folder or a file that is to be a mount point, and the folders on its way, where it is in an area that
 * is a sandbox's own. 0 or -errno. */
int layers_make_mount_point(int dir_fd, const char *path, bool folder, uid_t uid, gid_t gid);

/* The name, below a layer or a version, of what a cell sees at a path; folder is another name of /work, or NULL. 0;
 * -ENOENT where the path is of none of the session's areas; -ENAMETOOLONG. */
int layers_find(const char *path, const char *folder, char *ret_name, size_t size);

/* Makes an empty layer. 0 or -errno. */
int layer_create(int dir_fd, uint64_t id, uid_t uid, gid_t gid);

/* Removes a layer with all that is in it. 0 or -errno. */
int layer_remove(int dir_fd, uint64_t id);

#endif
