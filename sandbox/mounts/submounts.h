/*
 * submounts.h - a notebook's folder in which something is mounted: a container's volume, say.
 *
 * Linux lets no overlay lie over such a folder where the mounts came from
 * another user namespace: it would uncover what they cover. So the folder is
 * taken apart. Of each folder on the way to a mount the small files are copied,
 * once, into a folder of the session's, which takes its place as the lowest
 * layer; what else is in it is a part by itself. A part that is a folder is an
 * overlay of its own in each sandbox, with the same layers below the same path;
 * one that is a large file can be read. What can't be shown is counted.
 *
 * See: clone_private_mount() in overlayfs, mount_namespaces(7) on locked mounts.
 */
#ifndef PETRI_SANDBOX_MOUNTS_SUBMOUNTS_H
#define PETRI_SANDBOX_MOUNTS_SUBMOUNTS_H

#include "sandbox/files/folder.h"
#include "sandbox/sandbox.h"

enum { SUBMOUNTS_MAX = 64 };

/* Where the parts stand, from the template's working folder; the lowest layer is SUBMOUNTS_FILES. */
#define SUBMOUNTS_FILES "apart"
#define SUBMOUNTS_PARTS "parts"

/* Beside a layer, the folder of those that overlayfs works in, one a part. */
#define SUBMOUNTS_WORK "parts.work"

/* Where the session's own overlay over the i-th part stands for a moment, from the template's working folder. */
#define SUBMOUNTS_SHOWN SUBMOUNTS_PARTS "/%zu.shown"

struct submounts {
    bool used; /* else the folder is whole */
    size_t n;
    struct submounts_part {
        char *path; /* below the folder, begins with a slash; owned */
        bool folder;
    } part[SUBMOUNTS_MAX];
    struct session_view view;
};

/*
 * In the template, whose working folder it is in: takes the folder at path, an
 * absolute one, apart, where something is mounted in it. old: where a /proc
 * stands. 0 or -errno with ret_error filled.
 */
int submounts_build(const char *path, const struct folder_rules *rules, struct submounts *ret,
                    struct error *ret_error) MUST_CHECK;

/*
 * Makes what the parts need in a layer: in folder_fd, what lies over the
 * notebook's folder, the folders that they are seen at, as they are at from_fd,
 * MOUNTS_PARTED_DIR; and in work_fd, owned by uid and gid, those that overlayfs
 * works in. 0 or -errno.
 */
int submounts_prepare(const struct submounts *submounts, int from_fd, int folder_fd, int work_fd, unsigned uid,
                      unsigned gid) MUST_CHECK;

#endif
