#define _GNU_SOURCE
#include "shared.h"

#include "cleanup.h"
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

enum { MAX_PIECES = 256 };

void shared_forget(struct shared *shared) {
    for (size_t i = 0; i < shared->n; i++) {
        free(shared->piece[i].saved);
        shared->piece[i].saved = NULL;
    }
}

void shared_fini(struct shared *shared) {
    shared_forget(shared);
    free(shared->piece);
    *shared = (struct shared){0};
}

static int add(struct shared *shared, struct shared_piece piece) {
    if (shared->n == MAX_PIECES)
        return 0;
    struct shared_piece *grown = realloc(shared->piece, (shared->n + 1) * sizeof *grown);
    if (!grown)
        return -ENOMEM;
    shared->piece = grown;
    shared->piece[shared->n++] = piece;
    return 0;
}

/* A line of /proc/pid/maps that is a shared mapping which may be written, of memory or of an unlinked file. */
static int add_mapping(struct shared *shared, const char *line) {
    uint64_t start, end;
    char write, kind;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%c%*c%c", &start, &end, &write, &kind) != 4)
        return 0;
    if (write != 'w' || kind != 's' || !strstr(line, "(deleted)"))
        return 0;
    return add(shared, (struct shared_piece){.address = start, .fd = -1, .bytes = (size_t)(end - start)});
}

static int find_mappings(pid_t pid, struct shared *shared) {
    char path[32], line[1024];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    auto_file maps = fopen(path, "re");
    int r = maps ? 0 : -errno;
    while (r == 0 && fgets(line, sizeof line, maps))
        r = add_mapping(shared, line);
    return r;
}

int shared_find(pid_t pid, const struct open_files *files, struct shared *ret) {
    struct shared shared = {0};
    int r = find_mappings(pid, &shared);
    for (size_t i = 0; r == 0 && i < files->n; i++)
        if (!files->file[i].path && !(files->file[i].flags & (O_DIRECTORY | O_PATH)) &&
            (files->file[i].flags & O_ACCMODE) != O_RDONLY)
            r = add(&shared, (struct shared_piece){.fd = files->file[i].fd});
    if (r)
        shared_fini(&shared);
    else
        *ret = shared;
    return r;
}

static int open_piece(pid_t pid, int fd) {
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    int opened = open(path, O_RDWR | O_CLOEXEC);
    return opened < 0 ? -errno : opened;
}

static int save_file(struct shared_piece *piece, pid_t pid, uint64_t room) {
    struct stat st;
    auto_fd fd = open_piece(pid, piece->fd);
    if (fd < 0 || fstat(fd, &st))
        return fd < 0 ? fd : -errno;
    piece->bytes = 0;
    if ((uint64_t)st.st_size > room)
        return 0;
    piece->saved = malloc((size_t)st.st_size + 1);
    if (!piece->saved)
        return -ENOMEM;
    ssize_t n = pread(fd, piece->saved, (size_t)st.st_size, 0);
    piece->bytes = n < 0 ? 0 : (size_t)n;
    return n < 0 ? -errno : 0;
}

static int save_mapping(struct shared_piece *piece, int memory_fd, uint64_t room) {
    if (piece->bytes > room)
        return 0;
    piece->saved = malloc(piece->bytes);
    if (!piece->saved)
        return -ENOMEM;
    int r = memory_read(memory_fd, piece->address, piece->saved, piece->bytes);
    if (r) {
        free(piece->saved); /* a file cut short below its mapping: there is nothing to be put back */
        piece->saved = NULL;
    }
    return 0;
}

int shared_save(struct shared *shared, pid_t pid, int memory_fd) {
    uint64_t room = SHARED_MAX_BYTES;
    int r = 0;
    for (size_t i = 0; r == 0 && i < shared->n; i++) {
        struct shared_piece *piece = &shared->piece[i];
        r = piece->fd >= 0 ? save_file(piece, pid, room) : save_mapping(piece, memory_fd, room);
        if (piece->saved)
            room -= piece->bytes;
    }
    return r;
}

static int put_back_file(const struct shared_piece *piece, pid_t pid) {
    auto_fd fd = open_piece(pid, piece->fd);
    if (fd < 0)
        return fd;
    if (ftruncate(fd, (off_t)piece->bytes))
        return -errno;
    return pwrite(fd, piece->saved, piece->bytes, 0) == (ssize_t)piece->bytes ? 0 : -EIO;
}

int shared_put_back(const struct shared *shared, pid_t pid, int memory_fd) {
    int result = 0;
    for (size_t i = 0; i < shared->n; i++) {
        const struct shared_piece *piece = &shared->piece[i];
        if (!piece->saved)
            continue;
        int r = piece->fd >= 0 ? put_back_file(piece, pid)
                               : memory_write(memory_fd, piece->address, piece->saved, piece->bytes);
        result = result ? result : r;
    }
    return result;
}
