/*
 * system.c - each call is one system call, whose result is made a descriptor, 0 or -errno.
 *
 * The last functions are loops around open, read and write that several rooms
 * need.
 */
#define _GNU_SOURCE
#include "system.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int result(long r) {
    return r < 0 ? -errno : (int)r;
}

/* A path with ".." that may not leave a folder can't be followed while anything is renamed or mounted on the machine:
 * then Linux says EAGAIN. See: openat2(2). */
static int open_within(int dir_fd, const char *path, const struct open_how *how) {
    enum { TRIES = 1000 };
    int r = -EAGAIN;
    for (int i = 0; r == -EAGAIN && i < TRIES; i++)
        r = result(syscall(SYS_openat2, dir_fd, path, how, sizeof *how));
    return r;
}

int system_open_tree(const char *path, int recursive) {
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (recursive ? (unsigned)AT_RECURSIVE : 0);
    return result(syscall(SYS_open_tree, AT_FDCWD, path, flags));
}

int system_open_tree_of(int fd) {
    unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | (unsigned)AT_RECURSIVE | AT_EMPTY_PATH;
    return result(syscall(SYS_open_tree, fd, "", flags));
}

int system_open_in_root(const char *root, const char *path, bool through_links) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
    auto_fd root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        return -errno;
    if (!through_links) {
        how.flags |= O_NOFOLLOW;
        how.resolve |= RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    }
    return open_within(root_fd, path, &how);
}

int system_open_beneath(int dir_fd, const char *path, int flags, unsigned mode) {
    const struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC),
        .mode = mode,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    return open_within(dir_fd, path, &how);
}

int system_move_mount(int mount_fd, const char *target) {
    return result(syscall(SYS_move_mount, mount_fd, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
}

int system_pick_mount(int dir_fd, const char *path) {
    return result(syscall(SYS_fspick, dir_fd, path, FSPICK_CLOEXEC | FSPICK_NO_AUTOMOUNT));
}

int system_reconfigure(int picked_fd) {
    return result(syscall(SYS_fsconfig, picked_fd, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0));
}

int system_mount_setattr(int dir_fd, const char *path, int recursive, uint64_t attr_set, int userns_fd) {
    struct mount_attr attr = {.attr_set = attr_set, .userns_fd = userns_fd >= 0 ? (unsigned)userns_fd : 0};
    unsigned flags = (recursive ? (unsigned)AT_RECURSIVE : 0) | (path[0] ? 0 : (unsigned)AT_EMPTY_PATH);
    return result(syscall(SYS_mount_setattr, dir_fd, path, flags, &attr, sizeof attr));
}

int system_pidfd_open(pid_t pid) {
    return result(syscall(SYS_pidfd_open, pid, 0));
}

int system_pidfd_getfd(int pidfd, int fd) {
    return result(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
}

int system_pidfd_signal(int pidfd, int signal) {
    return result(syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0));
}

int system_write_file(int dir_fd, const char *path, const char *text) {
    auto_fd fd = openat(dir_fd, path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, strlen(text));
    if (n < 0)
        return -errno;
    return (size_t)n == strlen(text) ? 0 : -EIO;
}

static int make_parents(int dir_fd, const char *path) {
    char parent[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof parent)
        return -ENAMETOOLONG;
    memcpy(parent, path, n + 1);
    for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        if (mkdirat(dir_fd, parent, 0755) && errno != EEXIST)
            return -errno;
        *slash = '/';
    }
    return 0;
}

int system_make_file(int dir_fd, const char *path, const char *text) {
    size_t left = strlen(text);
    ssize_t n;
    int r = make_parents(dir_fd, path);
    if (r)
        return r;
    auto_fd fd = openat(dir_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd < 0)
        return -errno;
    for (; left > 0; text += n, left -= (size_t)n)
        if ((n = write(fd, text, left)) <= 0)
            return n < 0 ? -errno : -EIO;
    return 0;
}

ssize_t system_read_file(int dir_fd, const char *path, char *buf, size_t size) {
    auto_fd fd = openat(dir_fd, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* or a FIFO in its place would block us */
    if (fd < 0)
        return -errno;
    size_t used = 0;
    while (used < size - 1) {
        ssize_t n = read(fd, buf + used, size - 1 - used);
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        used += (size_t)n;
    }
    buf[used] = 0;
    return (ssize_t)used;
}
