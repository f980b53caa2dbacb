#define _GNU_SOURCE
#include "tree.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Goes into a folder whatever its mode, which becomes one that lets its owner empty it; -errno where it is none. */
static int open_folder(int dir_fd, const char *name) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;
    int fd = openat(dir_fd, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(dir_fd, name, 0700, 0) == 0)
        fd = openat(dir_fd, name, flags);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
        (void)fchmod(fd, 0700); /* where that fails, emptying it does, and says why */
    return fd;
}

static int is_dots(const char *name) {
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Removes what can be removed at once from the folder at fd. Returns 1 with
 * the name of a folder that is not empty, 0 when nothing is left, or -errno.
 */
static int sweep(int fd, char ret_name[256]) {
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_dir dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        if (is_dots(entry->d_name) || unlinkat(fd, entry->d_name, 0) == 0)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return -errno;
        if (unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0)
            continue;
        if (errno != ENOTEMPTY)
            return -errno;
        memcpy(ret_name, entry->d_name, strlen(entry->d_name) + 1);
        return 1;
    }
    return 0;
}

/*
 * Empties the folder at fd: goes down into the first folder that is not empty,
 * and up again when one is, so that no depth needs more than one descriptor.
 */
static int empty(int fd) {
    struct stat top, here;
    auto_fd at = dup(fd);
    if (at < 0 || fstat(fd, &top))
        return -errno;
    for (;;) {
        char name[256];
        int r = sweep(at, name);
        if (r < 0)
            return r;
        if (r == 0 && fstat(at, &here))
            return -errno;
        if (r == 0 && here.st_ino == top.st_ino)
            return 0;
        int next = open_folder(at, r ? name : "..");
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
    auto_fd fd = open_folder(dir_fd, name);
    if (fd < 0)
        return fd;
    int r = empty(fd);
    if (r == 0 && unlinkat(dir_fd, name, AT_REMOVEDIR))
        r = -errno;
    return r;
}
