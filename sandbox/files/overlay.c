/*
 * overlay.c - the attributes of overlayfs, and read-only overlays of one folder.
 *
 * All attributes are those of user.overlay, for petri mounts with userxattr, as
 * in a user namespace one must.
 */
#define _GNU_SOURCE
#include "overlay.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define OVERLAY_ORIGIN "user.overlay.origin"

bool overlay_is_whiteout(const struct stat *st) {
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

bool overlay_is_opaque(int folder_fd) {
    char value[4];
    return fgetxattr(folder_fd, OVERLAY_OPAQUE, value, sizeof value) > 0 && value[0] == 'y';
}

int overlay_clear_opaque(int folder_fd) {
    if (!overlay_is_opaque(folder_fd))
        return 0;
    return fremovexattr(folder_fd, OVERLAY_OPAQUE) ? -errno : 1;
}

int overlay_mark_copied(int folder_fd) {
    return fsetxattr(folder_fd, OVERLAY_ORIGIN, "", 0, 0) ? -errno : 0;
}

int overlay_put_whiteout(int dir_fd, const char *name) {
    return mknodat(dir_fd, name, S_IFCHR, makedev(0, 0)) ? -errno : 0;
}

/* The folder is named ".", as the working folder: that needs no /proc, and cells, which can read the options of their
 * mounts, learn no path of the host's. */
int overlay_show(const char *above, int folder_fd, const char *target) {
    char data[PATH_MAX];
    auto_fd before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (before < 0 || fchdir(folder_fd))
        return -errno;
    if (above)
        snprintf(data, sizeof data, "userxattr,lowerdir=%s:.", above);
    else
        snprintf(data, sizeof data, "userxattr,lowerdir=.:" OVERLAY_EMPTY);
    int r = mount("petri", target, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, data) ? -errno : 0;
    return fchdir(before) ? -errno : r;
}
