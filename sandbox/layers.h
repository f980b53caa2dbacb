/*
 * layers.h - the files that cells have written, as layers on the session's tmpfs.
 *
 *     committed/{private,folder}                        what the committed cells have written
 *     committed/mountpoints                             empty folders, below the notebook's folder
 *     first/{private,folder}                            what was committed when the session began
 *     cells/ID/{private,folder}{,.work}                 one cell's own layer (an overlay's upper and work folder)
 *
 * "folder" lies over the notebook's folder; "private" is {tmp,home,shm}. A
 * layer's files are in overlayfs' format: a character device 0:0 is a
 * whiteout, the attribute user.overlay.opaque hides what is below a folder.
 *
 * Before Linux 6.6 a tmpfs keeps no such attribute, and an overlay on it can
 * neither remove a folder that has something below it nor put another in its
 * place. There a cell's layer begins as a copy of the committed ones and takes
 * their place at the commit, so that of all that cells have written nothing
 * lies below; what the notebook's folder has of its own still does.
 *
 * dir_fd is the root of the session's tmpfs. Nobody else may be changing the
 * layers that a function is given. See: overlayfs.rst.
 */
#ifndef PETRI_SANDBOX_LAYERS_H
#define PETRI_SANDBOX_LAYERS_H

#include "sandbox.h"

#include <sys/types.h>

enum { LAYER_NAME_SIZE = 32 };

/* Layers whose numbers have this bit lie over the first ones instead of the committed ones: cells of image 0. */
#define LAYER_OVER_FIRST (UINT64_C(1) << 63)

/* What a layer lies over: "committed" or "first". Static. */
const char *layer_base(uint64_t id);

/* The name of a layer: "cells/ID". */
void layer_name(uint64_t id, char ret_name[LAYER_NAME_SIZE]);

/* Makes the empty committed layers, owned by uid and gid. 0 or -errno. */
int layers_init(int dir_fd, uid_t uid, gid_t gid);

/* Makes path, a folder or a file that is to be a mount point, and the folders on its way, where it is in an area that
 * is a sandbox's own. 0 or -errno. */
int layers_make_mount_point(int dir_fd, const char *path, bool folder, uid_t uid, gid_t gid);

/* Keeps the committed layers as they are now as the first ones; once, when the session begins. 0 or -errno. */
int layers_keep_first(int dir_fd, uid_t uid, gid_t gid);

/* Whether a layer is a copy: see above. */
bool layers_are_copied(int dir_fd);

/* Makes a layer: empty, or a copy of those it lies over. 0 or -errno. */
int layer_create(int dir_fd, uint64_t id, uid_t uid, gid_t gid);

/*
 * Moves all of a layer down into the committed ones, or puts it in their place,
 * and removes it, whatever its depth. -ENOSPC where that takes more room than
 * there is, for marks on folders: the rest of the layer is there, and can be
 * committed once there is more. 0, or another -errno.
 */
int layer_commit(int dir_fd, uint64_t id);

/* Removes a layer with all that is in it. 0 or -errno. */
int layer_remove(int dir_fd, uint64_t id);

#endif
