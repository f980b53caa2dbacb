#define _GNU_SOURCE
#include "tree_copy.h"

#include "cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_DEPTH = 256 };

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

static int copy_folder(int from_fd, int to_fd, int links_fd, int depth);

static int copy_subfolder(const struct place *from, const struct place *to, int links_fd, int depth) {
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    if (mkdirat(to->dir_fd, to->name, 0700))
        return -errno;
    auto_fd from_fd = openat(from->dir_fd, from->name, flags);
    auto_fd to_fd = openat(to->dir_fd, to->name, flags);
    return from_fd < 0 || to_fd < 0 ? -errno : copy_folder(from_fd, to_fd, links_fd, depth);
}

static int copy_entry(const struct place *from, const struct place *to, int links_fd, int depth) {
    struct stat st;
    if (fstatat(from->dir_fd, from->name, &st, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return st.st_nlink > 1 ? copy_linked(from, to, &st, links_fd) : copy_node(from, to, &st);
    if (depth == MAX_DEPTH)
        return 0;
    int r = copy_subfolder(from, to, links_fd, depth + 1);
    return r ? r : copy_attributes(to, &st);
}

static int copy_folder(int from_fd, int to_fd, int links_fd, int depth) {
    int copy = openat(from_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
    auto_dir dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!dir)
        return -errno;
    while (r == 0 && (entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = copy_entry(&(struct place){from_fd, entry->d_name}, &(struct place){to_fd, entry->d_name}, links_fd,
                           depth);
    return r;
}

int tree_copy(int from_fd, int to_fd, int links_fd) {
    return copy_folder(from_fd, to_fd, links_fd, 0);
}
