#define _GNU_SOURCE
#include "overlay.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

bool overlay_is_whiteout(const struct stat *st) {
    return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

bool overlay_is_opaque(int folder_fd) {
    char value[4];
    return fgetxattr(folder_fd, OVERLAY_OPAQUE, value, sizeof value) > 0 && value[0] == 'y';
}

int overlay_put_whiteout(int dir_fd, const char *name) {
    return mknodat(dir_fd, name, S_IFCHR, makedev(0, 0)) ? -errno : 0;
}

int overlay_show(const char *above, int folder_fd, const char *target) {
    char data[PATH_MAX];
    snprintf(data, sizeof data, "userxattr,lowerdir=%s:/proc/self/fd/%d", above, folder_fd);
    return mount("petri", target, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV, data) ? -errno : 0;
}
