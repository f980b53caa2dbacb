/*
 * overlay.h - what overlayfs keeps in a layer, and overlays that show a folder of the host's.
 *
 * A whiteout is a character device 0:0; a folder with the attribute
 * user.overlay.opaque hides what is below it. See: overlayfs.rst.
 */
#ifndef PETRI_SANDBOX_FILES_OVERLAY_H
#define PETRI_SANDBOX_FILES_OVERLAY_H

#include <stdbool.h>
#include <sys/stat.h>

#define OVERLAY_OPAQUE "user.overlay.opaque"

/* An empty folder of the template: without a layer to write to, an overlay needs two others. */
#define OVERLAY_EMPTY "/.petri/empty"

bool overlay_is_whiteout(const struct stat *st);
bool overlay_is_opaque(int folder_fd);

/* Has a folder of a layer hide nothing of what is below it. 1, 0 where it did not, or -errno. */
int overlay_clear_opaque(int folder_fd);

/*
 * Marks a folder of a layer as one that was copied up, from where isn't known.
 * Linux looks for whiteouts in a folder that no other layer has only where it
 * bears this mark; and on a folder of an upper layer that lies over another it
 * puts one itself, which fails where the folder's owner has no id there. 0 or -errno.
 */
int overlay_mark_copied(int folder_fd);

/* Makes a whiteout in a folder. 0 or -errno. */
int overlay_put_whiteout(int dir_fd, const char *name);

/*
 * Shows the folder at folder_fd at target, read-only, below what the folder
 * above has, which gives the mode and owner of target; NULL is nothing, and
 * they are the folder's. Its sockets and FIFOs are the overlay's own, so no
 * process of the host is at their other end. What is mounted in the folder is not shown. above and
 * target are absolute. 0 or -errno, -EINVAL where its file system can't be
 * below an overlay, or something is mounted in it that came from another user
 * namespace.
 */
int overlay_show(const char *above, int folder_fd, const char *target);

#endif
