/*
 * tree.c - removes trees of any depth and any mode with one descriptor.
 *
 * Folders come from cells: they may be deeper than any path or stack allows, and
 * may forbid their owner to read them.
 */
#define _GNU_SOURCE
#include "tree.h"

#include "base/cleanup.h"

#include "base/slices.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

int tree_open(int dir_fd, const char *path) {
    int fd = openat(dir_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int tree_go(int *fd, const char *name) {
    int next = tree_open(*fd, name);
    if (next < 0)
        return next;
    close(*fd);
    *fd = next;
    return 0;
}

int tree_read(int fd, tree_visitor *visit, void *arg) {
    _Alignas(struct dirent64) char buf[1024];
    ssize_t n;
    while ((n = getdents64(fd, buf, sizeof buf)) > 0) {
        const struct dirent64 *entry;
        for (ssize_t at = 0; at < n; at += entry->d_reclen) {
            entry = (const struct dirent64 *)(buf + at);
            if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
                continue;
            slices_step();
            int r = visit(arg, entry->d_name, entry->d_off);
            if (r)
                return r;
        }
    }
    return n < 0 ? -errno : 0;
}

/* Goes into a folder whatever its mode, which becomes one that lets its owner empty it; -errno where it is none. */
static int open_to_empty(int dir_fd, const char *name) {
    struct stat st;
    int fd = tree_open(dir_fd, name);
    if (fd == -EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = tree_open(dir_fd, name);
    if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700); /* where that fails, emptying it does, and says why */
    return fd;
}

/* The folder that is being emptied, and one in it that has to be emptied first. */
struct emptying {
    int fd;
    char name[NAME_MAX + 1];
};

/* Removes an entry. 1 where it is a folder that is not empty. */
static int remove_entry(void *arg, const char *name, off_t next) {
    struct emptying *emptying = arg;
    (void)next;
    if (unlinkat(emptying->fd, name, 0) == 0)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    if (unlinkat(emptying->fd, name, AT_REMOVEDIR) == 0)
        return 0;
    if (errno != ENOTEMPTY)
        return -errno;
    memcpy(emptying->name, name, strlen(name) + 1);
    return 1;
}

/*
 * Empties the folder at fd: goes down into the first folder that is not empty,
 * and up again when one is, so that no depth needs more than one descriptor.
 */
static int empty(int fd) {
    struct stat top, here;
    struct emptying emptying;
    auto_fd at = dup(fd);
    if (at < 0 || fstat(fd, &top))
        return -errno;
    for (;;) {
        emptying.fd = at;
        int r = lseek(at, 0, SEEK_SET) < 0 ? -errno : tree_read(at, remove_entry, &emptying);
        if (r < 0)
            return r;
        if (r == 0 && fstat(at, &here))
            return -errno;
        if (r == 0 && here.st_ino == top.st_ino)
            return 0;
        int next = open_to_empty(at, r ? emptying.name : "..");
        if (next < 0)
            return next;
        close(at);
        at = next;
    }
}

int tree_remove(int dir_fd, const char *name) {
    if (unlinkat(dir_fd, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -errno;
    auto_fd fd = open_to_empty(dir_fd, name);
    if (fd < 0)
        return fd;
    int r = empty(fd);
    if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR))
        r = -errno;
    return r;
}
