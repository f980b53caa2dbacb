/*
 * shared_restore.c - a cell's own copies of its image's shared memory, and an image's own of what nobody can measure.
 *
 * The worker makes a memfd for each piece, we fill it, and it is mapped over the
 * image's mappings.
 *
 * The order within one piece matters: open files are made before the mode is set,
 * which may forbid opening; the mode before the seals, which may forbid a mode;
 * and a seal against writing before the mappings, as it was, while other seals
 * come after them.
 *
 * A frozen cell's own copies need no descriptor, of which it may have all: memory is
 * mapped somewhere, filled, and moved to where it belongs, or, where several
 * mappings share it, mapped there once more.
 */
#define _GNU_SOURCE
#include "sandbox/image/shared.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/slices.h"
#include "sandbox/base/io.h"
#include "sandbox/filter/filter.h"
#include "sandbox/inject/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { BLOCK_BYTES = 1 << 20, MEMFD_NAME_BYTES = 250 };

#define STATUS_FLAGS (O_APPEND | O_NONBLOCK | O_NOATIME)

/* Copies what is not a hole. */
static int copy_file(int from, int to, char *block) {
    off_t at = 0;
    while ((at = lseek(from, at, SEEK_DATA)) >= 0) {
        const off_t end = lseek(from, at, SEEK_HOLE);
        while (at < end) {
            const size_t most = end - at < BLOCK_BYTES ? (size_t)(end - at) : BLOCK_BYTES;
            ssize_t n = pread(from, block, most, at);
            if (n <= 0)
                return n < 0 ? -errno : 0;
            int r = io_write(to, block, (size_t)n, at);
            if (r)
                return r;
            at += n;
        }
        if (end < 0)
            break;
    }
    return errno == ENXIO || at >= 0 ? 0 : -errno;
}

static bool is_zero(const char *block, size_t bytes) {
    return block[0] == 0 && memcmp(block, block + 1, bytes - 1) == 0;
}

static int write_contents(const char *contents, uint64_t bytes, int to) {
    int r = 0;
    for (uint64_t at = 0; r == 0 && at < bytes; at += BLOCK_BYTES) {
        const uint64_t left = bytes - at;
        const size_t n = left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
        const char *block = contents + at;
        r = is_zero(block, n) ? 0 : io_write(to, block, n, (off_t)at);
    }
    return r;
}

/* Copies what can be read of an image's memory: beyond the end of a file there is nothing. Blocks of zeros are left
 * holes. */
static int copy_memory(int memory_fd, uint64_t from, uint64_t bytes, int to, uint64_t at, char *block) {
    for (uint64_t done = 0; done < bytes;) {
        const uint64_t left = bytes - done;
        slices_step();
        ssize_t n = pread(memory_fd, block, left < BLOCK_BYTES ? (size_t)left : BLOCK_BYTES, (off_t)(from + done));
        if (n <= 0)
            break;
        int r = is_zero(block, (size_t)n) ? 0 : io_write(to, block, (size_t)n, (off_t)(at + done));
        if (r)
            return r;
        done += (uint64_t)n;
    }
    return 0;
}

/* Copies what the image has mapped. */
static int copy_mappings(const struct shared *shared, size_t piece, int memory_fd, int to, char *block) {
    if (shared->piece[piece].contents)
        return write_contents(shared->piece[piece].contents, shared->piece[piece].bytes, to);
    int r = 0;
    for (size_t i = 0; r == 0 && i < shared->n_mappings; i++) {
        const struct shared_mapping *mapping = &shared->mapping[i];
        if (mapping->piece == piece)
            r = copy_memory(memory_fd, mapping->start, mapping->end - mapping->start, to, mapping->offset, block);
    }
    return r;
}

/* A file whose contents are saved may be another cell's by now. */
static int fill(const struct shared *shared, size_t i, const struct descriptors *list, int memory_fd,
                const struct restorer *restorer, int to) {
    const struct shared_piece *piece = &shared->piece[i];
    auto_free char *block = malloc(BLOCK_BYTES);
    if (!block || ftruncate(to, (off_t)piece->bytes))
        return block ? -errno : -ENOMEM;
    if (piece->descriptor == SHARED_NO_DESCRIPTOR)
        return copy_mappings(shared, i, memory_fd, to, block);
    if (piece->saved.data)
        return ftruncate(to, (off_t)piece->saved.bytes) ? -errno
                                                        : write_contents(piece->saved.data, piece->saved.bytes, to);
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", restorer->keeper, list->at[piece->descriptor].fd);
    auto_fd from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return -errno;
    return copy_file(from, to, block);
}

/* In the place of what was mapped. */
static int map(const struct shared *shared, size_t piece, struct restorer *restorer, int made) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < shared->n_mappings; i++) {
        const struct shared_mapping *mapping = &shared->mapping[i];
        if (mapping->piece != piece)
            continue;
        struct inject_call call = {.number = SYS_mmap,
                                   .argument = {mapping->start, mapping->end - mapping->start,
                                                (uint64_t)mapping->protection, MAP_SHARED | MAP_FIXED, (uint64_t)made,
                                                mapping->offset}};
        r = restorer_call(restorer, &call);
        if (r == 0 && call.result != (int64_t)mapping->start)
            r = call.result ? inject_result_status(call.result) : -EUCLEAN;
    }
    return r;
}

/* Gives each open file of a memfd its own, at its offset. */
static int place(const struct descriptors *list, struct restorer *restorer, size_t object, int made) {
    int r = 0;
    for (size_t i = object; r == 0 && i != DESCRIPTORS_NONE; i = list->at[i].next_object) {
        const struct descriptor *descriptor = &list->at[i];
        const int flags = descriptor->flags & (O_ACCMODE | O_PATH | STATUS_FLAGS);
        int again = restorer_reopen(restorer, made, flags);
        if (again < 0)
            return again;
        if (descriptor->offset > 0)
            r = restorer_add(
                restorer, (struct inject_call){.number = SYS_lseek,
                                               .argument = {(uint64_t)again, (uint64_t)descriptor->offset, SEEK_SET}});
        if (r == 0)
            r = restorer_place(restorer, list, i, again);
        if (r == 0)
            r = restorer_close(restorer, again);
    }
    return r;
}

/* What memfd_create(2) was told, of "/memfd:NAME (deleted)". */
static void read_name(const char *link, char name[NAME_MAX]) {
    const char *begin = link ? strchr(link, ':') : NULL, *end = begin ? strrchr(begin, ' ') : NULL;
    snprintf(name, MEMFD_NAME_BYTES, "%.*s", end ? (int)(end - begin - 1) : 6, end ? begin + 1 : "shared");
}

/* A checked call: the filter leaves it to us, as it tells of those that cells make. */
static int make(struct restorer *restorer, const struct shared_piece *piece, const struct descriptors *list) {
    char name[NAME_MAX];
    const unsigned flags = MFD_CLOEXEC | (piece->seals == F_SEAL_SEAL ? 0 : MFD_ALLOW_SEALING);
    read_name(piece->descriptor == SHARED_NO_DESCRIPTOR ? NULL : list->at[piece->descriptor].path, name);
    const struct inject_memory memory = {restorer_at(restorer, 0), name, strlen(name) + 1};
    struct inject_call call = {.number = SYS_memfd_create, .argument = {memory.address, flags, FILTER_OURS}};
    int r = restorer_run(restorer);
    if (r == 0)
        r = inject_checked(restorer->task, &call, &memory, NULL);
    return r ? r : inject_result_descriptor(call.result);
}

/* One that can't be sealed says that it is sealed against seals. */
static int seal(int fd, const struct shared_piece *piece) {
    return piece->seals && piece->seals != F_SEAL_SEAL && fcntl(fd, F_ADD_SEALS, piece->seals) ? -errno : 0;
}

static int note_made(struct shared_made *made, int fd, uint64_t bytes) {
    struct stat st;
    int r = fstat(fd, &st) ? -errno : array_grow(&made->own, made->n, sizeof *made->own);
    if (r == 0)
        made->own[made->n++] = (struct shared_own){st.st_ino, bytes};
    return r;
}

/* A mapping that may be written keeps a file from being sealed against that, and such a seal keeps it from being mapped
 * so. */
static int restore_piece(const struct shared *shared, size_t i, const struct descriptors *list, int memory_fd,
                         struct restorer *restorer, struct shared_made *ret_made) {
    const struct shared_piece *piece = &shared->piece[i];
    const bool seal_first = piece->seals & F_SEAL_WRITE;
    int made = make(restorer, piece, list);
    auto_fd fd = made < 0 ? made : restorer_take(restorer, made);
    if (fd < 0)
        return fd;
    int r = fill(shared, i, list, memory_fd, restorer, fd);
    /* Opened before it has its mode, which may forbid that, and before its seals, which may forbid a mode. */
    if (r == 0 && piece->descriptor != SHARED_NO_DESCRIPTOR)
        r = place(list, restorer, piece->descriptor, made);
    if (r == 0 && piece->descriptor != SHARED_NO_DESCRIPTOR && fchmod(fd, list->at[piece->descriptor].mode & 07777))
        r = -errno;
    if (r == 0 && seal_first)
        r = seal(fd, piece);
    if (r == 0)
        r = map(shared, i, restorer, made);
    if (r == 0 && !seal_first)
        r = seal(fd, piece);
    if (r == 0 && piece->descriptor == SHARED_NO_DESCRIPTOR)
        r = note_made(ret_made, fd, piece->bytes);
    return r ? r : restorer_close(restorer, made);
}

static bool is_mapped(const struct shared *shared, size_t piece) {
    for (size_t i = 0; i < shared->n_mappings; i++)
        if (shared->mapping[i].piece == piece)
            return true;
    return false;
}

/*
 * Of a file without a name an ephemeral cell has no more than the descriptor's number
 * (open_files.c); what it has mapped of it is a copy, for what it writes there is not put
 * back. A whole run has a copy of all of it.
 */
static int restore_mappings(const struct shared *shared, size_t i, const struct descriptors *list, int memory_fd,
                            struct restorer *restorer, struct shared_made *ret_made) {
    auto_free char *block = malloc(BLOCK_BYTES);
    int made = block ? make(restorer, &shared->piece[i], list) : -ENOMEM;
    auto_fd fd = made < 0 ? made : restorer_take(restorer, made);
    if (fd < 0)
        return fd;
    int r = ftruncate(fd, (off_t)shared->piece[i].bytes) ? -errno : copy_mappings(shared, i, memory_fd, fd, block);
    if (r == 0)
        r = map(shared, i, restorer, made);
    if (r == 0)
        r = note_made(ret_made, fd, shared->piece[i].bytes);
    return r ? r : restorer_close(restorer, made);
}

static bool is_copied(const struct shared_piece *piece, const struct descriptors *list,
                      const struct restorer *restorer) {
    return !piece->is_saved_by_us ||
           (restorer->whole && !piece->is_constant && list->at[piece->descriptor].kind == DESCRIPTOR_UNNAMED);
}

static int restore_mapped_files(const struct shared *shared, struct restorer *restorer) {
    return restorer->whole     ? mapped_files_restore_own(&shared->mapped, restorer)
           : restorer->layered ? mapped_files_restore(&shared->mapped, restorer)
                               : mapped_files_begin(&shared->mapped, restorer);
}

int shared_restore(const struct shared *shared, const struct descriptors *list, int memory_fd,
                   struct restorer *restorer, struct shared_made *made) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < shared->n; i++) {
        const struct shared_piece *piece = &shared->piece[i];
        if (is_copied(piece, list, restorer))
            r = restore_piece(shared, i, list, memory_fd, restorer, made);
        else if (restorer->beside && !piece->is_constant && is_mapped(shared, i))
            r = restore_mappings(shared, i, list, memory_fd, restorer, made);
    }
    return r ? r : restore_mapped_files(shared, restorer);
}

/* Whether it is memory that we had made, and is mapped to its end: then it counts for all that it is. */
static bool is_ours(const struct shared_made *made, const struct shared_piece *piece) {
    size_t i = 0;
    while (i < made->n && made->own[i].inode != piece->inode)
        i++;
    return i < made->n && made->own[i].bytes <= piece->bytes;
}

/* Has the task map fresh memory anywhere. Its address, or -errno. */
static int64_t map_fresh(struct restorer *restorer, uint64_t bytes, int kind) {
    struct inject_call call = {
        .number = SYS_mmap,
        .argument = {0, bytes, PROT_READ | PROT_WRITE, (uint64_t)(kind | MAP_ANONYMOUS | MAP_NORESERVE), ~0ULL, 0}};
    int r = restorer_call(restorer, &call);
    return r ? r : call.result > 0 ? call.result : call.result < 0 ? inject_result_status(call.result) : -EUCLEAN;
}

/* Queues what puts fresh memory where a mapping is: of old_bytes of it, 0 to have it in both places. */
static int put_in_place(struct restorer *restorer, const struct shared_mapping *mapping, uint64_t from,
                        uint64_t old_bytes) {
    const uint64_t bytes = mapping->end - mapping->start;
    int r = restorer_add(restorer, (struct inject_call){.number = SYS_mremap,
                                                        .argument = {from, old_bytes, bytes,
                                                                     MREMAP_MAYMOVE | MREMAP_FIXED, mapping->start}});
    return r ? r
             : restorer_add(restorer,
                            (struct inject_call){.number = SYS_mprotect,
                                                 .argument = {mapping->start, bytes, (uint64_t)mapping->protection}});
}

static int settle_private(const struct shared_mapping *mapping, int memory_fd, struct restorer *restorer, char *block) {
    const uint64_t bytes = mapping->end - mapping->start;
    const int64_t fresh = map_fresh(restorer, bytes, MAP_PRIVATE);
    int r = fresh < 0 ? (int)fresh : copy_memory(memory_fd, mapping->start, bytes, memory_fd, (uint64_t)fresh, block);
    return r ? r : put_in_place(restorer, mapping, (uint64_t)fresh, bytes);
}

static int settle_piece(const struct shared *shared, size_t i, int memory_fd, struct restorer *restorer, char *block) {
    const uint64_t bytes = shared->piece[i].bytes;
    const int64_t fresh = map_fresh(restorer, bytes, MAP_SHARED);
    int r = fresh < 0 ? (int)fresh : 0;
    for (size_t k = 0; r == 0 && k < shared->n_mappings; k++) {
        const struct shared_mapping *mapping = &shared->mapping[k];
        const uint64_t at = (uint64_t)fresh + mapping->offset;
        if (mapping->piece != i)
            continue;
        r = copy_memory(memory_fd, mapping->start, mapping->end - mapping->start, memory_fd, at, block);
        if (r == 0)
            r = put_in_place(restorer, mapping, at, 0);
    }
    return r ? r
             : restorer_add(restorer, (struct inject_call){.number = SYS_munmap, .argument = {(uint64_t)fresh, bytes}});
}

int shared_settle(struct shared *shared, const struct shared_made *made, int memory_fd, struct restorer *restorer) {
    auto_free char *block = malloc(BLOCK_BYTES);
    int r = block ? 0 : -ENOMEM;
    size_t n = 0;
    for (size_t i = 0; r == 0 && i < shared->n; i++)
        if (shared->piece[i].is_memory && shared->piece[i].descriptor == SHARED_NO_DESCRIPTOR &&
            !is_ours(made, &shared->piece[i]))
            r = settle_piece(shared, i, memory_fd, restorer, block);
    for (size_t i = 0; r == 0 && i < shared->n_mappings; i++) {
        const struct shared_mapping mapping = shared->mapping[i];
        if (mapping.piece == SHARED_NO_PIECE)
            r = settle_private(&mapping, memory_fd, restorer, block);
        else
            shared->mapping[n++] = mapping;
    }
    if (r)
        return r;
    shared->n_mappings = n;
    return restorer_run(restorer);
}
