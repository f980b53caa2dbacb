/*
 * mirror.c - making one file what another is, by writing only what differs.
 *
 * Two files are gone through by their data and holes (SEEK_DATA, SEEK_HOLE), block
 * by block. To free room and to fill are two calls, so that a caller can free what
 * all files have too much before any of them takes more.
 */
#define _GNU_SOURCE
#include "mirror.h"

#include "base/cleanup.h"
#include "sandbox/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { BLOCK_BYTES = 64 << 10, NAMES_BYTES = 64 << 10, PERMISSIONS = 07777 };

/* Two blocks to compare; one allocation. */
struct blocks {
    char *one, *other;
};

static int blocks_init(struct blocks *blocks) {
    blocks->one = malloc((size_t)2 * BLOCK_BYTES);
    blocks->other = blocks->one ? blocks->one + BLOCK_BYTES : NULL;
    return blocks->one ? 0 : -ENOMEM;
}

/* The next run of data of a file, from an offset on and at most to end; false where there is none. */
static bool next_data(int fd, off_t *at, off_t end, off_t *ret_end) {
    const off_t data = *at < end ? lseek(fd, *at, SEEK_DATA) : -1;
    if (data < 0 || data >= end)
        return false;
    const off_t hole = lseek(fd, data, SEEK_HOLE);
    *at = data;
    *ret_end = hole < 0 || hole > end ? end : hole;
    return true;
}

/* What is done with two blocks of the same place that differ. 0, 1 to stop, or -errno. */
typedef int difference(int to_fd, const char *block, size_t bytes, off_t at);

static int write_difference(int to_fd, const char *block, size_t bytes, off_t at) {
    return io_write(to_fd, block, bytes, at);
}

static int stop_at_difference(int to_fd, const char *block, size_t bytes, off_t at) {
    (void)to_fd, (void)block, (void)bytes, (void)at;
    return 1;
}

/* Calls handle for each block of the first file's data from at to end that the second has otherwise. */
static int each_difference(int from_fd, int to_fd, off_t at, off_t end, difference *handle) {
    struct blocks blocks;
    int r = blocks_init(&blocks);
    auto_free char *owned = r == 0 ? blocks.one : NULL;
    off_t data_end = 0;
    for (; r == 0 && next_data(from_fd, &at, end, &data_end); at = data_end)
        for (off_t here = at; r == 0 && here < data_end;) {
            const size_t most = data_end - here < BLOCK_BYTES ? (size_t)(data_end - here) : BLOCK_BYTES;
            const ssize_t n = io_read(from_fd, blocks.one, most, here);
            const ssize_t m = n > 0 ? io_read(to_fd, blocks.other, (size_t)n, here) : 0;
            if (n <= 0 || m < 0)
                return n < 0 ? (int)n : (m < 0 ? (int)m : 0);
            if (m != n || memcmp(blocks.one, blocks.other, (size_t)n) != 0)
                r = handle(to_fd, blocks.one, (size_t)n, here);
            here += n;
        }
    (void)owned;
    return r;
}

/* Whether the second file has bytes other than 0 where the first has holes. 1, 0 or -errno. */
static int find_data_in_holes(int one_fd, int other_fd, off_t size) {
    off_t at = 0, hole = 0, end = 0;
    int r = 0;
    for (; r == 0 && next_data(one_fd, &at, size, &end); at = hole = end)
        r = each_difference(other_fd, one_fd, hole, at, stop_at_difference);
    return r ? r : each_difference(other_fd, one_fd, hole, size, stop_at_difference);
}

int mirror_compare(int one_fd, int other_fd) {
    struct stat one, other;
    if (fstat(one_fd, &one) || fstat(other_fd, &other))
        return -errno;
    if (one.st_size != other.st_size)
        return 0;
    int r = each_difference(one_fd, other_fd, 0, one.st_size, stop_at_difference);
    if (r == 0)
        r = find_data_in_holes(one_fd, other_fd, one.st_size);
    return r < 0 ? r : !r;
}

static int punch(int fd, off_t at, off_t end) {
    off_t data_end = 0;
    for (; next_data(fd, &at, end, &data_end); at = data_end)
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, data_end - at))
            return -errno;
    return 0;
}

int mirror_free_room(int from_fd, int to_fd) {
    struct stat from, to;
    if (fstat(from_fd, &from) || fstat(to_fd, &to))
        return -errno;
    if (from.st_size != to.st_size && ftruncate(to_fd, from.st_size))
        return -errno;
    off_t at = 0, hole = 0, end = 0;
    int r = 0;
    for (; r == 0 && next_data(from_fd, &at, from.st_size, &end); at = hole = end)
        r = punch(to_fd, hole, at);
    return r ? r : punch(to_fd, hole, from.st_size);
}

int mirror_fill(int from_fd, int to_fd) {
    struct stat from;
    if (fstat(from_fd, &from))
        return -errno;
    return each_difference(from_fd, to_fd, 0, from.st_size, write_difference);
}

/* The names of a file's attributes, one behind the other. Their bytes, 0 also where there can be none; or -errno. */
static ssize_t list_attributes(int fd, char *names) {
    ssize_t n = flistxattr(fd, names, NAMES_BYTES);
    return n < 0 ? (errno == EOPNOTSUPP ? 0 : -errno) : n;
}

static bool is_users(const char *name) {
    return strncmp(name, "user.", 5) == 0;
}

static int copy_attribute(int from_fd, int to_fd, const char *name, char *value, char *other) {
    ssize_t n = fgetxattr(from_fd, name, value, XATTR_SIZE_MAX);
    if (n < 0)
        return -errno;
    if (fgetxattr(to_fd, name, other, XATTR_SIZE_MAX) == n && memcmp(value, other, (size_t)n) == 0)
        return 0;
    return fsetxattr(to_fd, name, value, (size_t)n, 0) ? -errno : 0;
}

static bool has_attribute(int from_fd, int to_fd, const char *name, char *value, char *other) {
    const ssize_t n = fgetxattr(from_fd, name, value, XATTR_SIZE_MAX);
    return n >= 0 && fgetxattr(to_fd, name, other, XATTR_SIZE_MAX) == n && memcmp(value, other, (size_t)n) == 0;
}

/* Whether one has all that another has. 1, 0 or -errno. */
static int has_attributes(int from_fd, int to_fd, char *names, char *values) {
    const ssize_t n = list_attributes(from_fd, names);
    bool has = true;
    for (const char *name = names; has && n > 0 && name < names + n; name += strlen(name) + 1)
        has = !is_users(name) || has_attribute(from_fd, to_fd, name, values, values + XATTR_SIZE_MAX);
    return n < 0 ? (int)n : has;
}

/* Most files have none. */
static bool have_none(int from_fd, int to_fd) {
    char few[256];
    return flistxattr(from_fd, few, sizeof few) <= 0 && flistxattr(to_fd, few, sizeof few) <= 0 && errno != ERANGE;
}

int mirror_compare_attributes(int from_fd, int to_fd) {
    errno = 0;
    if (have_none(from_fd, to_fd))
        return 1;
    auto_free char *names = malloc(NAMES_BYTES), *values = malloc((size_t)2 * XATTR_SIZE_MAX);
    if (!names || !values)
        return -ENOMEM;
    int r = has_attributes(from_fd, to_fd, names, values);
    return r > 0 ? has_attributes(to_fd, from_fd, names, values) : r;
}

/* Removes from the second what the first doesn't have; before others are set, for attributes take room. */
static int remove_attributes(int from_fd, int to_fd, char *names) {
    ssize_t n = list_attributes(to_fd, names);
    for (const char *name = names; n > 0 && name < names + n; name += strlen(name) + 1)
        if (is_users(name) && fgetxattr(from_fd, name, NULL, 0) < 0 && fremovexattr(to_fd, name))
            return -errno;
    return n < 0 ? (int)n : 0;
}

int mirror_attributes(int from_fd, int to_fd) {
    errno = 0;
    if (have_none(from_fd, to_fd))
        return 0;
    auto_free char *names = malloc(NAMES_BYTES), *value = malloc((size_t)2 * XATTR_SIZE_MAX);
    if (!names || !value)
        return -ENOMEM;
    int r = remove_attributes(from_fd, to_fd, names);
    ssize_t n = r ? r : list_attributes(from_fd, names);
    for (const char *name = names; r == 0 && n > 0 && name < names + n; name += strlen(name) + 1)
        r = is_users(name) ? copy_attribute(from_fd, to_fd, name, value, value + XATTR_SIZE_MAX) : 0;
    return n < 0 ? (int)n : r;
}

static bool is_owned(const struct stat *is, const struct stat *st) {
    return is->st_uid == st->st_uid && is->st_gid == st->st_gid;
}

static bool has_mode(const struct stat *is, const struct stat *st) {
    return S_ISLNK(st->st_mode) || ((is->st_mode ^ st->st_mode) & PERMISSIONS) == 0;
}

static bool has_time(const struct stat *is, const struct stat *st) {
    return memcmp(&is->st_mtim, &st->st_mtim, sizeof st->st_mtim) == 0;
}

int mirror_compare_status(int dir_fd, const char *name, const struct stat *st) {
    struct stat is;
    if (fstatat(dir_fd, name, &is, AT_SYMLINK_NOFOLLOW))
        return -errno;
    return is_owned(&is, st) && has_mode(&is, st) && has_time(&is, st);
}

/* The owner first, for a change of that takes away a mode's S_ISUID. */
int mirror_status(int dir_fd, const char *name, const struct stat *st) {
    struct stat is;
    if (fstatat(dir_fd, name, &is, AT_SYMLINK_NOFOLLOW))
        return -errno;
    const bool owned = is_owned(&is, st);
    if (!owned && fchownat(dir_fd, name, st->st_uid, st->st_gid, AT_SYMLINK_NOFOLLOW))
        return -errno;
    if (!(owned && has_mode(&is, st)) && !S_ISLNK(st->st_mode) && fchmodat(dir_fd, name, st->st_mode & PERMISSIONS, 0))
        return -errno;
    if (has_time(&is, st))
        return 0;
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, st->st_mtim};
    return utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}
