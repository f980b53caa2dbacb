#define _GNU_SOURCE
#include "tree_copy.h"

#include "cleanup.h"
#include "tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Where something is: a name in an open folder. */
struct place {
    int dir_fd;
    const char *name;
};

static int copy_attributes(const struct place *to, const struct stat *st) {
    const struct timespec times[] = {st->st_atim, st->st_mtim};
    if (fchownat(to->dir_fd, to->name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (!S_ISLNK(st->st_mode) && fchmodat(to->dir_fd, to->name, st->st_mode & 07777, 0))
        return -errno;
    return utimensat(to->dir_fd, to->name, times, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

/* The end of the file may come earlier: whoever has it open may shorten it. */
static int copy_range(int in, int out, off_t at, off_t end) {
    while (at < end) {
        off_t from = at, to = at;
        ssize_t n = copy_file_range(in, &from, out, &to, (size_t)(end - at), 0);
        if (n < 0)
            return -errno;
        if (n == 0)
            return 0;
        at += n;
    }
    return 0;
}

/* Holes stay holes: a file may be larger than all there is. */
static int copy_file(const struct place *from, const struct place *to) {
    struct stat st;
    auto_fd in = openat(from->dir_fd, from->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    auto_fd out = in < 0 ? -1 : openat(to->dir_fd, to->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (in < 0 || out < 0 || fstat(in, &st) || ftruncate(out, st.st_size))
        return -errno;
    off_t data = 0;
    while ((data = lseek(in, data, SEEK_DATA)) >= 0) {
        off_t hole = lseek(in, data, SEEK_HOLE);
        if (hole < 0)
            break;
        int r = copy_range(in, out, data, hole);
        if (r)
            return r;
        data = hole;
    }
    return errno == ENXIO ? 0 : -errno; /* no data up to the end */
}

static int copy_symlink(const struct place *from, const struct place *to) {
    char target[PATH_MAX];
    ssize_t n = readlinkat(from->dir_fd, from->name, target, sizeof target - 1);
    if (n < 0)
        return -errno;
    target[n] = 0;
    return symlinkat(target, to->dir_fd, to->name) ? -errno : 0;
}

/* All that isn't a folder. */
static int copy_node(const struct place *from, const struct place *to, const struct stat *st) {
    int r;
    if (S_ISREG(st->st_mode))
        r = copy_file(from, to);
    else if (S_ISLNK(st->st_mode))
        r = copy_symlink(from, to);
    else
        r = mknodat(to->dir_fd, to->name, st->st_mode, st->st_rdev) ? -errno : 0;
    return r ? r : copy_attributes(to, st);
}

/* A file of several names is copied once; its first copy gets a name in links_fd, by which the next finds it. */
static int copy_linked(const struct place *from, const struct place *to, const struct stat *st, int links_fd) {
    char number[24];
    snprintf(number, sizeof number, "%ju", (uintmax_t)st->st_ino);
    if (linkat(links_fd, number, to->dir_fd, to->name, 0) == 0)
        return 0;
    if (errno != ENOENT)
        return -errno;
    int r = copy_node(from, to, st);
    return r ? r : (linkat(to->dir_fd, to->name, links_fd, number, 0) ? -errno : 0);
}

/* Where a copy stands: both folders, and where to go on reading in each of the `depth` folders above. */
struct copy {
    int from, to, links;
    off_t *above;
    size_t depth, size;
};

/* Goes into a folder that both have, or up to the one above. 1 or -errno. */
static int go(struct copy *copy, const char *name) {
    int r = tree_go(&copy->from, name);
    if (r == 0)
        r = tree_go(&copy->to, name);
    return r ? r : 1;
}

static int go_down(struct copy *copy, const char *name, off_t next) {
    if (copy->depth == copy->size) {
        size_t size = copy->size ? copy->size * 2 : 16;
        off_t *above = realloc(copy->above, size * sizeof *above);
        if (!above)
            return -ENOMEM;
        copy->above = above;
        copy->size = size;
    }
    copy->above[copy->depth++] = next;
    return mkdirat(copy->to, name, 0700) ? -errno : go(copy, name);
}

static int go_up(struct copy *copy) {
    struct stat st;
    if (fstat(copy->from, &st))
        return -errno;
    int r = copy_attributes(&(struct place){copy->to, "."}, &st);
    if (r == 0)
        r = go(copy, "..");
    return r > 0 && lseek(copy->from, copy->above[--copy->depth], SEEK_SET) < 0 ? -errno : r;
}

/* 1 where it is a folder, which is gone into. */
static int copy_entry(void *arg, const char *name, off_t next) {
    struct copy *copy = arg;
    const struct place from = {copy->from, name}, to = {copy->to, name};
    struct stat st;
    if (fstatat(copy->from, name, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (S_ISDIR(st.st_mode))
        return go_down(copy, name, next);
    return st.st_nlink > 1 ? copy_linked(&from, &to, &st, copy->links) : copy_node(&from, &to, &st);
}

int tree_copy(int from_fd, int to_fd, int links_fd) {
    struct copy copy = {.from = tree_open(from_fd, "."), .to = tree_open(to_fd, "."), .links = links_fd};
    int r = copy.from < 0 ? copy.from : (copy.to < 0 ? copy.to : 1);
    while (r > 0) {
        r = tree_read(copy.from, copy_entry, &copy);
        if (r == 0 && copy.depth > 0)
            r = go_up(&copy);
    }
    close_fd(&copy.from);
    close_fd(&copy.to);
    free(copy.above);
    return r;
}
