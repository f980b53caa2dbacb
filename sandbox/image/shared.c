/*
 * shared.c - finding what a copy of an image would share with it, and saving what it does share.
 *
 * Descriptors are looked at first (memfds, files without a name), then mappings.
 * Both are joined by inode, so that a memfd that is open and mapped is one piece.
 * A mapping of a file that has a name goes to mapped_files.h; one whose name is
 * gone is looked for by the inode, within a bound, before it counts as unlinked.
 *
 * Each cell waits until all pieces are copied or saved, so all of it is bounded
 * here, at the freeze, where the cell that made too much can still be rolled
 * back. The limits count the bytes that would be copied, the pieces, and the
 * mappings. Files that can't be written to cost nothing; of those that are only
 * read, the ones for which there is no room any more are withheld from cells.
 *
 * Of private mappings those of memory are looked for, which takes a while where there
 * are many libraries: so only if a cell may have made any.
 *
 * Contents are put back in two rounds: first every file gives up the room that it
 * has gained, then every file gets what it has lost. So a cell that has filled the
 * disk can be undone without a free byte.
 */
#define _GNU_SOURCE
#include "shared.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/base/io.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/process/mappings.h"
#include "sandbox/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

void shared_forget(struct shared *shared) {
    for (size_t i = 0; i < shared->n; i++)
        saved_fini(&shared->piece[i].saved);
}

void shared_fini(struct shared *shared) {
    shared_forget(shared);
    for (size_t i = 0; i < shared->n; i++)
        free(shared->piece[i].contents);
    free(shared->piece);
    free(shared->mapping);
    mapped_files_fini(&shared->mapped);
    *shared = (struct shared){0};
}

static int add_piece(struct shared *shared, const struct shared_piece *piece) {
    int r = array_grow(&shared->piece, shared->n, sizeof *piece);
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

static int add_mapping_of(struct shared *shared, const struct mapping *mapping, size_t piece) {
    int r = shared->n_mappings == SHARED_MAX_MAPPINGS
                ? -E2BIG
                : array_grow(&shared->mapping, shared->n_mappings, sizeof *shared->mapping);
    if (r == 0)
        shared->mapping[shared->n_mappings++] = (struct shared_mapping){.start = mapping->start,
                                                                        .end = mapping->end,
                                                                        .offset = mapping->offset,
                                                                        .protection = mapping->protection,
                                                                        .piece = piece};
    return r;
}

static int add_memory(struct shared *shared, const struct mapping *mapping) {
    size_t i = find_piece(shared, mapping);
    if (i >= SHARED_MAX_PIECES)
        return -E2BIG;
    int r = i < shared->n ? 0
                          : add_piece(shared, &(struct shared_piece){.inode = mapping->inode,
                                                                     .is_memory = mapping->is_memory,
                                                                     .descriptor = SHARED_NO_DESCRIPTOR});
    if (r)
        return r;
    const uint64_t end = mapping->offset + (mapping->end - mapping->start);
    shared->piece[i].is_only_read = false;
    if (shared->piece[i].descriptor == SHARED_NO_DESCRIPTOR && shared->piece[i].bytes < end)
        shared->piece[i].bytes = end;
    return add_mapping_of(shared, mapping, i);
}

/* Of memory that is open all counts by that. */
static int add_private(struct shared *shared, const struct mapping *mapping) {
    const size_t i = find_piece(shared, mapping);
    const bool is_open = i < shared->n && shared->piece[i].descriptor != SHARED_NO_DESCRIPTOR;
    return is_open ? 0 : add_mapping_of(shared, mapping, SHARED_NO_PIECE);
}

struct finding {
    struct shared *shared;
    const struct shared_known *known;
    size_t names_left; /* that may be looked at, for files that may have another one */
};

static int add_file(const struct finding *finding, const struct mapping *mapping) {
    struct mapped_files *mapped = &finding->shared->mapped;
    return mapped->n == SHARED_MAX_MAPPINGS ? -E2BIG : mapped_files_add(mapped, mapping, finding->known->before);
}

/* A file that a cell has unlinked, and that was put back when the cell was rolled back, has its name again, whatever is
 * told of the mapping. */
static int add_mapping(void *arg, const struct mapping *mapping) {
    struct finding *finding = arg;
    const struct snapshot *files = finding->known->files;
    if (!mapping->is_shared)
        return add_private(finding->shared, mapping);
    if (mapping->is_memory)
        return add_memory(finding->shared, mapping);
    if (mapping->is_named || (files && snapshot_stands(files, mapping->inode)))
        return add_file(finding, mapping);
    auto_free char *other = mapped_files_find_name(finding->known->viewer, mapping, &finding->names_left);
    if (!other)
        return add_memory(finding->shared, mapping);
    struct mapping renamed = *mapping;
    renamed.name = other;
    return add_file(finding, &renamed);
}

/*
 * One that can't be opened for that, say for a lease that something mapped still
 * has, could not be put back. It is opened for writing only if the image has it
 * open so: opening may copy it up.
 */
static int add_unnamed(pid_t pid, const struct descriptors *list, struct shared_piece *piece, struct shared *shared,
                       struct error *error) {
    const size_t object = piece->descriptor;
    int flags = O_RDONLY;
    for (size_t i = object; i != DESCRIPTORS_NONE; i = list->at[i].next_object)
        flags = (list->at[i].flags & O_ACCMODE) == O_RDONLY ? flags : O_RDWR;
    auto_fd fd = saved_open(pid, list->at[object].fd, flags);
    if (fd < 0)
        return step_failed(error, STEP_DESCRIPTORS, ENOTSUP,
                           "descriptor %d, a file without a name that can't be opened again", list->at[object].fd);
    piece->is_only_read = flags == O_RDONLY;
    piece->is_constant = piece->is_only_read && saved_is_constant(fd);
    return add_piece(shared, piece);
}

static int add_descriptor(pid_t pid, const struct descriptors *list, size_t i, struct shared *shared,
                          struct error *error) {
    const struct descriptor *descriptor = &list->at[i];
    struct shared_piece piece = {.inode = descriptor->inode,
                                 .is_memory = descriptor->kind == DESCRIPTOR_MEMFD,
                                 .descriptor = i,
                                 .bytes = descriptor->bytes,
                                 .is_saved_by_us = descriptor->kind == DESCRIPTOR_UNNAMED};
    struct statfs fs;
    if (piece.is_saved_by_us)
        return add_unnamed(pid, list, &piece, shared, error);
    auto_fd fd = saved_open(pid, descriptor->fd, O_RDONLY);
    if (fd < 0 || fstatfs(fd, &fs))
        return fd < 0 ? fd : -errno;
    if (fs.f_type != TMPFS_MAGIC)
        return step_failed(error, STEP_DESCRIPTORS, ENOTSUP, "descriptor %d, memory in huge pages", descriptor->fd);
    piece.seals = fcntl(fd, F_GET_SEALS);
    return piece.seals < 0 ? -errno : add_piece(shared, &piece);
}

/* No cell gets more than the numbers of its descriptors. Those that may have mapped it can't change it there. */
static void withhold(struct shared_piece *piece, struct descriptors *list) {
    piece->is_constant = true;
    for (size_t i = piece->descriptor; i != DESCRIPTORS_NONE; i = list->at[i].next_object)
        list->at[i].withheld = true;
}

static int check_size(struct shared *shared, struct descriptors *list, struct error *error) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < shared->n_mappings && bytes <= SHARED_MAX_BYTES; i++)
        bytes += shared->mapping[i].piece == SHARED_NO_PIECE ? shared->mapping[i].end - shared->mapping[i].start : 0;
    for (size_t i = 0; i < shared->n && bytes <= SHARED_MAX_BYTES; i++)
        bytes += shared->piece[i].is_constant || shared->piece[i].is_only_read ? 0 : shared->piece[i].bytes;
    if (bytes > SHARED_MAX_BYTES)
        return step_failed(error, STEP_DESCRIPTORS, ENOTSUP,
                           "more than %llu MiB of shared memory and temporary files without a name",
                           SHARED_MAX_BYTES >> 20);
    for (size_t i = 0; i < shared->n; i++) {
        struct shared_piece *piece = &shared->piece[i];
        if (piece->is_constant || !piece->is_only_read)
            continue;
        if (piece->bytes <= SHARED_MAX_BYTES - bytes)
            bytes += piece->bytes;
        else
            withhold(piece, list);
    }
    return 0;
}

static uint64_t most_mappings(void) {
    char text[32];
    uint64_t most = 0;
    ssize_t n = system_read_file(AT_FDCWD, "/proc/sys/vm/max_map_count", text, sizeof text);
    return n > 0 && procfs_get_number((struct procfs_text){text, (size_t)n}, 0, &most) ? most : 65530;
}

/* A cell replaces each, which Linux refuses to a process that has as many as it may. */
static int check_mappings(pid_t pid, const struct shared *shared, struct error *error) {
    size_t n = 0;
    int r = shared->n_mappings ? mappings_count(pid, &n) : 0;
    return r || n + SHARED_MAPPINGS_LEFT < most_mappings()
               ? r
               : step_failed(error, STEP_DESCRIPTORS, ENOTSUP,
                             "shared memory, and %zu other mappings: Linux allows no more", n - shared->n_mappings);
}

int shared_find(pid_t pid, struct descriptors *list, const struct shared_known *known, struct shared *ret,
                struct error *ret_error) {
    struct shared shared = {0};
    int r = 0;
    const size_t files = list->of_kind[DESCRIPTOR_MEMFD] + list->of_kind[DESCRIPTOR_UNNAMED];
    for (size_t i = 0; files > 0 && r == 0 && i < list->n; i++) {
        const enum descriptor_kind kind = list->at[i].kind;
        if ((kind == DESCRIPTOR_MEMFD || kind == DESCRIPTOR_UNNAMED) && descriptor_is_object(list, i))
            r = add_descriptor(pid, list, i, &shared, ret_error);
    }
    if (r == 0)
        r = mappings_each(pid, known->may_hide, add_mapping, &(struct finding){&shared, known, SHARED_MAX_NAMES});
    if (r == -E2BIG)
        r = step_failed(ret_error, STEP_DESCRIPTORS, ENOTSUP,
                        "more than %d pieces of shared memory and temporary files, or %d mappings of such",
                        SHARED_MAX_PIECES, SHARED_MAX_MAPPINGS);
    if (r == 0)
        r = check_size(&shared, list, ret_error);
    if (r == 0)
        r = check_mappings(pid, &shared, ret_error);
    if (r)
        shared_fini(&shared);
    else
        *ret = shared;
    return r;
}

static bool has_piece(const struct shared *shared, size_t descriptor) {
    for (size_t i = 0; i < shared->n; i++)
        if (shared->piece[i].descriptor == descriptor)
            return true;
    return false;
}

/* A file with a name that its cell could not open anew, and can write to all the same. */
static int add_unopened(pid_t pid, struct shared *shared, const struct descriptors *list) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct descriptor *descriptor = &list->at[i];
        if (descriptor->kind != DESCRIPTOR_FILE || !descriptor->shared || has_piece(shared, i))
            continue;
        auto_fd fd = saved_open(pid, descriptor->fd, O_RDONLY);
        r = fd < 0 ? fd
                   : add_piece(shared, &(struct shared_piece){.inode = descriptor->inode,
                                                              .descriptor = i,
                                                              .is_saved_by_us = true,
                                                              .is_constant = saved_is_constant(fd)});
    }
    return r;
}

int shared_save(struct shared *shared, const struct descriptors *list, pid_t pid) {
    uint64_t room_of_unnamed = SHARED_MAX_BYTES, room_of_unopened = SHARED_MAX_BYTES;
    shared_forget(shared);
    int r = list->of_kind[DESCRIPTOR_FILE] ? add_unopened(pid, shared, list) : 0;
    for (size_t i = 0; r == 0 && i < shared->n; i++) {
        struct shared_piece *piece = &shared->piece[i];
        if (!piece->is_saved_by_us || piece->is_constant)
            continue;
        const struct descriptor *descriptor = &list->at[piece->descriptor];
        r = saved_take(&piece->saved, pid, descriptor->fd,
                       descriptor->kind == DESCRIPTOR_FILE ? &room_of_unopened : &room_of_unnamed);
    }
    return r;
}

/* What can't be read there no cell has either. */
static void read_mappings(const struct shared *shared, size_t piece, int memory_fd, char *contents) {
    for (size_t i = 0; i < shared->n_mappings; i++) {
        const struct shared_mapping *mapping = &shared->mapping[i];
        if (mapping->piece == piece)
            (void)io_read(memory_fd, contents + mapping->offset, mapping->end - mapping->start, (off_t)mapping->start);
    }
}

int shared_keep(struct shared *shared, int memory_fd) {
    for (size_t i = 0; i < shared->n; i++) {
        struct shared_piece *piece = &shared->piece[i];
        if (piece->is_memory || piece->descriptor != SHARED_NO_DESCRIPTOR || piece->contents)
            continue;
        piece->contents = calloc(1, piece->bytes + 1);
        if (!piece->contents)
            return -ENOMEM;
        read_mappings(shared, i, memory_fd, piece->contents);
    }
    return 0;
}

static bool has_inode(const struct shared *shared, uint64_t inode) {
    for (size_t i = 0; i < shared->n; i++)
        if (!shared->piece[i].is_memory && shared->piece[i].inode == inode)
            return true;
    return false;
}

/* Where it fails, the room is free once the image is gone. A file that a cell has given a name since has links. */
static void empty(const struct shared_piece *piece, const struct descriptors *list, pid_t pid) {
    struct stat st;
    auto_fd fd = saved_open(pid, list->at[piece->descriptor].fd, O_RDWR);
    if (fd < 0 || fstat(fd, &st) || st.st_nlink > 0 || ftruncate(fd, 0))
        return;
}

void shared_free_room(struct shared *shared, const struct descriptors *list, pid_t pid, const struct shared *other) {
    for (size_t i = 0; i < shared->n; i++) {
        struct shared_piece *piece = &shared->piece[i];
        if (piece->is_emptied || piece->saved.bytes == 0 || list->at[piece->descriptor].kind != DESCRIPTOR_UNNAMED ||
            has_inode(other, piece->inode))
            continue;
        empty(piece, list, pid);
        piece->is_emptied = true;
    }
}

uint64_t shared_bytes(const struct shared *shared) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < shared->n; i++)
        bytes += shared->piece[i].saved.bytes + (shared->piece[i].contents ? shared->piece[i].bytes : 0);
    return bytes;
}

uint64_t shared_list_bytes(const struct shared *shared) {
    return malloc_usable_size(shared->piece) + malloc_usable_size(shared->mapping) +
           mapped_files_bytes(&shared->mapped);
}

/* What is only mapped counts as long as it is. */
static uint64_t memory_bytes(const struct shared_piece *piece, const struct descriptors *list, pid_t pid) {
    struct stat st;
    auto_fd fd =
        piece->descriptor == SHARED_NO_DESCRIPTOR ? -1 : saved_open(pid, list->at[piece->descriptor].fd, O_RDONLY);
    return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : piece->bytes;
}

uint64_t shared_memory_bytes(const struct shared *shared, const struct descriptors *list, pid_t pid) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < shared->n; i++)
        bytes += shared->piece[i].is_memory ? memory_bytes(&shared->piece[i], list, pid) : 0;
    return bytes;
}

int shared_put_back(struct shared *shared, const struct descriptors *list, pid_t pid) {
    static int (*const rounds[])(const struct saved *saved, pid_t pid, int number) = {saved_free_room, saved_put_back};
    int result = 0;
    for (size_t round = 0; round < sizeof rounds / sizeof rounds[0]; round++)
        for (size_t i = 0; i < shared->n; i++) {
            struct shared_piece *piece = &shared->piece[i];
            piece->is_emptied = false;
            int r = piece->saved.data ? rounds[round](&piece->saved, pid, list->at[piece->descriptor].fd) : 0;
            result = result ? result : r;
        }
    return result;
}
