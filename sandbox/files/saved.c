/*
 * saved.c - reads a file through /proc/pid/fd, and writes back what differs.
 *
 * A file may be shared with the image, so it is changed in place, block by block,
 * and a block that is as it was is only compared. It is opened for writing only
 * when something must be written. In the first round runs of zeros become holes,
 * which frees room that the cell has filled; a hole that comes back as a hole
 * needs none in the second.
 */
#define _GNU_SOURCE
#include "saved.h"

#include "base/cleanup.h"
#include "sandbox/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

enum { PAGE_BYTES = 4096, BLOCK_BYTES = 16 * PAGE_BYTES, PERMISSIONS = 07777 };

void saved_fini(struct saved *saved) {
    free(saved->data);
    *saved = (struct saved){0};
}

/* Opens without changing the time of access, where we own the file and so may ask for that. */
static int open_quietly(const char *path, int flags) {
    int fd = open(path, flags | O_NOATIME);
    if (fd < 0 && errno == EPERM)
        fd = open(path, flags);
    return fd < 0 ? -errno : fd;
}

/* The owner of a file may open it whatever its mode, by changing that for the moment. */
static int open_with_mode(const char *path, int flags) {
    struct stat st;
    if (stat(path, &st) || chmod(path, (st.st_mode & PERMISSIONS) | S_IRUSR | S_IWUSR))
        return -EACCES;
    auto_fd fd = open_quietly(path, flags);
    if (chmod(path, st.st_mode & PERMISSIONS))
        return -errno;
    return steal_fd(&fd);
}

int saved_open(pid_t pid, int number, int flags) {
    char path[48];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
    flags |= O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    auto_fd fd = open_quietly(path, flags);
    if (fd == -EACCES)
        fd = open_with_mode(path, flags);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st))
        return -errno;
    return S_ISREG(st.st_mode) ? steal_fd(&fd) : -EINVAL;
}

bool saved_is_constant(int fd) {
    struct statvfs fs;
    return fstatvfs(fd, &fs) == 0 && (fs.f_flag & ST_RDONLY);
}

bool saved_has_room(pid_t pid, int number, uint64_t *room) {
    struct stat st;
    auto_fd fd = saved_open(pid, number, O_RDONLY);
    if (fd < 0 || fstat(fd, &st))
        return false;
    const uint64_t bytes = saved_is_constant(fd) ? 0 : (uint64_t)st.st_size;
    if (bytes > *room)
        return false;
    *room -= bytes;
    return true;
}

int saved_take(struct saved *saved, pid_t pid, int number, uint64_t *room) {
    struct saved taken = {0};
    auto_fd fd = saved_open(pid, number, O_RDONLY);
    if (fd < 0)
        return fd;
    if (fstat(fd, &taken.was))
        return -errno;
    if ((uint64_t)taken.was.st_size > *room)
        return -EFBIG;
    taken.data = malloc((size_t)taken.was.st_size + 1);
    if (!taken.data)
        return -ENOMEM;
    ssize_t n = io_read(fd, taken.data, (size_t)taken.was.st_size, 0);
    if (n < 0) {
        free(taken.data);
        return (int)n;
    }
    taken.bytes = (size_t)n;
    *room -= taken.bytes;
    *saved = taken;
    return 0;
}

static bool is_zero(const char *data, size_t bytes) {
    return data[0] == 0 && memcmp(data, data + 1, bytes - 1) == 0;
}

/* Where the saved contents, from an offset on, have a run of pages of zeros. Its bytes; 0 where there is none. */
static size_t next_zeros(const struct saved *saved, size_t *offset) {
    size_t at = *offset, end;
    while (at + PAGE_BYTES <= saved->bytes && !is_zero((const char *)saved->data + at, PAGE_BYTES))
        at += PAGE_BYTES;
    for (end = at; end + PAGE_BYTES <= saved->bytes && is_zero((const char *)saved->data + end, PAGE_BYTES);)
        end += PAGE_BYTES;
    *offset = at;
    return end - at;
}

/* A file system without holes has nothing to free. */
static int make_holes(const struct saved *saved, int fd) {
    size_t at = 0, bytes;
    for (; (bytes = next_zeros(saved, &at)) > 0; at += bytes)
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes))
            return errno == EOPNOTSUPP ? 0 : -errno;
    return 0;
}

static bool is_same_time(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Mappings of memory files don't change the times; but they can only grow in blocks. */
static bool may_have_grown(const struct stat *was, const struct stat *is) {
    return is->st_size > was->st_size || is->st_blocks != was->st_blocks || !is_same_time(is->st_ctim, was->st_ctim);
}

int saved_free_room(const struct saved *saved, pid_t pid, int number) {
    struct stat st;
    auto_fd fd = saved_open(pid, number, O_RDONLY);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st))
        return -errno;
    if (may_have_grown(&saved->was, &st)) {
        auto_fd writer = saved_open(pid, number, O_RDWR);
        if (writer < 0)
            return writer;
        if (st.st_size > (off_t)saved->bytes && ftruncate(writer, (off_t)saved->bytes))
            return -errno;
        int r = make_holes(saved, writer);
        if (r)
            return r;
    }
    const mode_t mode = saved->was.st_mode & PERMISSIONS;
    return (st.st_mode & PERMISSIONS) != mode && fchmod(fd, mode) ? -errno : 0;
}

/* *writer: -1 until something must be written. */
static int put_back_block(const struct saved *saved, size_t at, int reader, int *writer, pid_t pid, int number) {
    char now[BLOCK_BYTES];
    const char *before = (const char *)saved->data + at;
    const size_t bytes = saved->bytes - at < BLOCK_BYTES ? saved->bytes - at : BLOCK_BYTES;
    ssize_t n = io_read(reader, now, bytes, (off_t)at);
    if (n < 0)
        return (int)n;
    if ((size_t)n == bytes && memcmp(now, before, bytes) == 0)
        return 0;
    if (*writer < 0)
        *writer = saved_open(pid, number, O_RDWR);
    return *writer < 0 ? *writer : io_write(*writer, before, bytes, (off_t)at);
}

/* A file that has become shorter is lengthened first; what is added is a hole. */
static int lengthen(const struct saved *saved, int reader, int *writer, pid_t pid, int number) {
    struct stat st;
    if (fstat(reader, &st))
        return -errno;
    if (st.st_size == (off_t)saved->bytes)
        return 0;
    *writer = saved_open(pid, number, O_RDWR);
    if (*writer < 0)
        return *writer;
    return ftruncate(*writer, (off_t)saved->bytes) ? -errno : 0;
}

/* EPERM: neither we nor the cell own the file. */
static int put_back_times(const struct saved *saved, int fd) {
    const struct timespec times[2] = {saved->was.st_atim, saved->was.st_mtim};
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if (is_same_time(st.st_atim, times[0]) && is_same_time(st.st_mtim, times[1]))
        return 0;
    return futimens(fd, times) && errno != EPERM ? -errno : 0;
}

int saved_put_back(const struct saved *saved, pid_t pid, int number) {
    auto_fd reader = saved_open(pid, number, O_RDONLY);
    auto_fd writer = -1;
    if (reader < 0)
        return reader;
    int r = lengthen(saved, reader, &writer, pid, number);
    for (size_t at = 0; r == 0 && at < saved->bytes; at += BLOCK_BYTES)
        r = put_back_block(saved, at, reader, &writer, pid, number);
    return r ? r : put_back_times(saved, reader);
}
