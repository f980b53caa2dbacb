#define _GNU_SOURCE
#include "shared.h"

#include "cleanup.h"
#include "error.h"
#include "mappings.h"
#include "procfs.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

void shared_forget(struct shared *shared) {
    for (size_t i = 0; i < shared->n; i++) {
        free(shared->piece[i].saved);
        shared->piece[i].saved = NULL;
    }
}

void shared_fini(struct shared *shared) {
    shared_forget(shared);
    free(shared->piece);
    free(shared->mapping);
    *shared = (struct shared){0};
}

/* Room for one more in an array of n that doubles. 0 or -ENOMEM. */
static int grow(void *array, size_t n, size_t bytes) {
    void **at = array, *grown;
    if (n & (n - 1))
        return 0;
    grown = reallocarray(*at, n ? 2 * n : 1, bytes);
    if (!grown)
        return -ENOMEM;
    *at = grown;
    return 0;
}

static int add_piece(struct shared *shared, const struct shared_piece *piece) {
    int r = grow(&shared->piece, shared->n, sizeof *piece);
    if (r == 0)
        shared->piece[shared->n++] = *piece;
    return r;
}

/* The piece of an inode: overlayfs tells another device of a file that is mapped, but the same inode. */
static size_t find_piece(const struct shared *shared, const struct mapping *mapping) {
    size_t i = 0;
    while (i < shared->n &&
           (shared->piece[i].inode != mapping->inode || shared->piece[i].is_memory != mapping->is_memory))
        i++;
    return i;
}

static int add_mapping(void *arg, const struct mapping *mapping) {
    struct shared *shared = arg;
    size_t i = find_piece(shared, mapping);
    if (i >= SHARED_MAX_PIECES || shared->n_mappings == SHARED_MAX_MAPPINGS)
        return -E2BIG;
    int r = i < shared->n ? 0
                          : add_piece(shared, &(struct shared_piece){.inode = mapping->inode,
                                                                     .is_memory = mapping->is_memory,
                                                                     .descriptor = SHARED_NO_DESCRIPTOR});
    if (r == 0)
        r = grow(&shared->mapping, shared->n_mappings, sizeof *shared->mapping);
    if (r)
        return r;
    const uint64_t end = mapping->offset + (mapping->end - mapping->start);
    if (shared->piece[i].descriptor == SHARED_NO_DESCRIPTOR && shared->piece[i].bytes < end)
        shared->piece[i].bytes = end;
    shared->mapping[shared->n_mappings++] = (struct shared_mapping){.start = mapping->start,
                                                                    .end = mapping->end,
                                                                    .offset = mapping->offset,
                                                                    .protection = mapping->protection,
                                                                    .piece = i};
    return 0;
}

/* Opens a file of a stopped process by its descriptor, as we may. It is a regular file: that blocks nobody. */
static int open_piece(pid_t pid, int fd, int flags) {
    char path[48];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    auto_fd opened = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (opened < 0 || fstat(opened, &st))
        return -errno;
    return S_ISREG(st.st_mode) ? steal_fd(&opened) : -EINVAL;
}

/* One that can't be opened for that, say for a lease that something mapped still has, could not be put back. */
static int add_unnamed(pid_t pid, const struct descriptors *list, struct shared_piece *piece, struct shared *shared,
                       struct sandbox_error *error) {
    const size_t object = piece->descriptor;
    piece->is_read_only = true;
    for (size_t i = object; i != DESCRIPTORS_NONE; i = list->at[i].next_object)
        piece->is_read_only &= (list->at[i].flags & O_ACCMODE) == O_RDONLY;
    auto_fd fd = piece->is_read_only ? -1 : open_piece(pid, list->at[object].fd, O_RDWR);
    if (!piece->is_read_only && fd < 0)
        return error_set(error, STEP_DESCRIPTORS, ENOTSUP,
                         "descriptor %d, a file without a name that can't be opened again", list->at[object].fd);
    return add_piece(shared, piece);
}

static int add_descriptor(pid_t pid, const struct descriptors *list, size_t i, struct shared *shared,
                          struct sandbox_error *error) {
    const struct descriptor *descriptor = &list->at[i];
    struct shared_piece piece = {.inode = descriptor->inode,
                                 .is_memory = descriptor->kind == DESCRIPTOR_MEMFD,
                                 .descriptor = i,
                                 .bytes = descriptor->bytes,
                                 .is_saved_by_us = descriptor->kind == DESCRIPTOR_UNNAMED};
    struct statfs fs;
    if (piece.is_saved_by_us)
        return add_unnamed(pid, list, &piece, shared, error);
    auto_fd fd = open_piece(pid, descriptor->fd, O_RDONLY);
    if (fd < 0 || fstatfs(fd, &fs))
        return fd < 0 ? fd : -errno;
    if (fs.f_type != TMPFS_MAGIC)
        return error_set(error, STEP_DESCRIPTORS, ENOTSUP, "descriptor %d, memory in huge pages", descriptor->fd);
    piece.seals = fcntl(fd, F_GET_SEALS);
    return piece.seals < 0 ? -errno : add_piece(shared, &piece);
}

static int check_size(const struct shared *shared, struct sandbox_error *error) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < shared->n && bytes <= SHARED_MAX_BYTES; i++)
        bytes += shared->piece[i].is_read_only ? 0 : shared->piece[i].bytes;
    if (bytes <= SHARED_MAX_BYTES)
        return 0;
    return error_set(error, STEP_DESCRIPTORS, ENOTSUP,
                     "more than %llu MiB of shared memory and temporary files without a name", SHARED_MAX_BYTES >> 20);
}

static uint64_t most_mappings(void) {
    char text[32];
    uint64_t most = 0;
    ssize_t n = system_read_file(AT_FDCWD, "/proc/sys/vm/max_map_count", text, sizeof text);
    return n > 0 && procfs_get_number((struct procfs_text){text, (size_t)n}, 0, &most) ? most : 65530;
}

/* A cell replaces each, which Linux refuses to a process that has as many as it may. */
static int check_mappings(pid_t pid, const struct shared *shared, struct sandbox_error *error) {
    size_t n = 0;
    int r = shared->n_mappings ? mappings_count(pid, &n) : 0;
    return r || n + SHARED_MAPPINGS_LEFT < most_mappings()
               ? r
               : error_set(error, STEP_DESCRIPTORS, ENOTSUP,
                           "shared memory beside %zu other mappings, the most there can be", n - shared->n_mappings);
}

int shared_find(pid_t pid, const struct descriptors *list, struct shared *ret, struct sandbox_error *ret_error) {
    struct shared shared = {0};
    int r = 0;
    const size_t files = list->of_kind[DESCRIPTOR_MEMFD] + list->of_kind[DESCRIPTOR_UNNAMED];
    for (size_t i = 0; files > 0 && r == 0 && i < list->n; i++) {
        const enum descriptor_kind kind = list->at[i].kind;
        if ((kind == DESCRIPTOR_MEMFD || kind == DESCRIPTOR_UNNAMED) && descriptor_is_object(list, i))
            r = add_descriptor(pid, list, i, &shared, ret_error);
    }
    if (r == 0)
        r = mappings_each(pid, add_mapping, &shared);
    if (r == -E2BIG)
        r = error_set(ret_error, STEP_DESCRIPTORS, ENOTSUP,
                      "more than %d pieces of shared memory and temporary files, or %d mappings of such",
                      SHARED_MAX_PIECES, SHARED_MAX_MAPPINGS);
    if (r == 0)
        r = check_size(&shared, ret_error);
    if (r == 0)
        r = check_mappings(pid, &shared, ret_error);
    if (r)
        shared_fini(&shared);
    else
        *ret = shared;
    return r;
}

/* Reads all of a file. *saved may be NULL for an empty one. */
static int save(struct shared_piece *piece, int fd, uint64_t *room) {
    struct stat st;
    if (fstat(fd, &st))
        return -errno;
    if ((uint64_t)st.st_size > *room)
        return -EFBIG;
    piece->saved = malloc((size_t)st.st_size + 1);
    if (!piece->saved)
        return -ENOMEM;
    piece->saved_bytes = 0;
    piece->mode = st.st_mode & 07777;
    while (piece->saved_bytes < (size_t)st.st_size) {
        ssize_t n = pread(fd, (char *)piece->saved + piece->saved_bytes, (size_t)st.st_size - piece->saved_bytes,
                          (off_t)piece->saved_bytes);
        if (n <= 0)
            return n < 0 ? -errno : 0;
        piece->saved_bytes += (size_t)n;
    }
    *room -= piece->saved_bytes;
    return 0;
}

/* A file with a name that its cell could not open anew, and can write to all the same. */
static int add_unopened(struct shared *shared, const struct descriptors *list) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct descriptor *descriptor = &list->at[i];
        size_t known = 0;
        if (descriptor->kind != DESCRIPTOR_FILE || !descriptor->shared || !S_ISREG(descriptor->mode) ||
            (descriptor->flags & O_PATH) || (descriptor->flags & O_ACCMODE) == O_RDONLY)
            continue;
        while (known < shared->n && shared->piece[known].descriptor != i)
            known++;
        if (known == shared->n)
            r = add_piece(shared,
                          &(struct shared_piece){.inode = descriptor->inode, .descriptor = i, .is_saved_by_us = true});
    }
    return r;
}

int shared_save(struct shared *shared, const struct descriptors *list, pid_t pid) {
    uint64_t room = SHARED_MAX_BYTES;
    shared_forget(shared);
    int r = list->of_kind[DESCRIPTOR_FILE] ? add_unopened(shared, list) : 0;
    for (size_t i = 0; r == 0 && i < shared->n; i++) {
        struct shared_piece *piece = &shared->piece[i];
        if (!piece->is_saved_by_us || piece->is_read_only)
            continue;
        auto_fd fd = open_piece(pid, list->at[piece->descriptor].fd, O_RDONLY);
        r = fd < 0 ? fd : save(piece, fd, &room);
    }
    return r;
}

/* Afterwards it is no longer than it was: what the others need to grow again is free. */
static int cut(const struct shared_piece *piece, pid_t pid, int number) {
    struct stat st;
    auto_fd fd = open_piece(pid, number, O_RDWR);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st) || ((st.st_mode & 07777) != piece->mode && fchmod(fd, piece->mode)))
        return -errno;
    return st.st_size > (off_t)piece->saved_bytes && ftruncate(fd, (off_t)piece->saved_bytes) ? -errno : 0;
}

static int put_back_file(const struct shared_piece *piece, pid_t pid, int number) {
    auto_fd fd = open_piece(pid, number, O_RDWR);
    if (fd < 0)
        return fd;
    if (ftruncate(fd, (off_t)piece->saved_bytes))
        return -errno;
    for (size_t done = 0; done < piece->saved_bytes;) {
        ssize_t n = pwrite(fd, (char *)piece->saved + done, piece->saved_bytes - done, (off_t)done);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        done += (size_t)n;
    }
    return 0;
}

int shared_put_back(const struct shared *shared, const struct descriptors *list, pid_t pid) {
    static int (*const steps[])(const struct shared_piece *piece, pid_t pid, int number) = {cut, put_back_file};
    int result = 0;
    for (size_t step = 0; step < sizeof steps / sizeof steps[0]; step++)
        for (size_t i = 0; i < shared->n; i++) {
            const struct shared_piece *piece = &shared->piece[i];
            int r = piece->saved ? steps[step](piece, pid, list->at[piece->descriptor].fd) : 0;
            result = result ? result : r;
        }
    return result;
}
