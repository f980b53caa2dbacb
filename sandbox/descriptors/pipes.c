/*
 * pipes.c - what waits in pipes is taken once, and written into those of each cell.
 *
 * What waits in a pipe is read out when the cell is frozen, for the image never
 * reads it itself, and written into the new pipe of each cell. Pieces are kept as
 * they were read, so that packets (O_DIRECT) stay packets. How large a new pipe
 * must be is tried on the emptied one, at the freeze: if a user may not have that
 * size, the cell is rolled back, and not a later one. Afterwards the image's pipe
 * is made small, because all pipes of a user count against one limit.
 *
 * Ends: the first open file for reading and the first for writing get the two ends
 * that pipe2(2) makes; further ones, those for both, and what is only a path, open
 * an end anew by /proc.
 */
#define _GNU_SOURCE
#include "pipes.h"

#include "base/cleanup.h"
#include "sandbox/descriptors/content.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/*
 * PIPES_MAX, PAGES_MAX: Linux gives a user 16384 pages for pipes, 16 for each, and there are several cells of an image
 * at a time. CAPACITY_MAX: what it takes as the size of one.
 */
enum { PAGE_BYTES = 4096, USUAL_PAGES = 16, LEAST_BYTES = PAGE_BYTES, READ_BYTES = 65536, AT_ONCE = 4 };
enum { PATH_BYTES = 4096 };
enum { PIPES_MAX = 256, PAGES_MAX = PIPES_MAX * USUAL_PAGES, CAPACITY_MAX = 1 << 30 };

/* What a pipe was, in the first row of its object. */
struct pipe_state {
    bool open;    /* Linux keeps the content only while an end is; a path (O_PATH) is none */
    bool taken;   /* its content is */
    int capacity; /* that the new one needs: in bytes, whole pages */
    bool packets; /* O_DIRECT: a read gives one write */
    struct content content;
};

void pipes_fini(struct descriptor *descriptor) {
    free(((struct pipe_state *)descriptor->state)->content.data);
}

size_t pipes_bytes(const struct descriptor *descriptor) {
    return malloc_usable_size(((struct pipe_state *)descriptor->state)->content.data);
}

static bool is_path(const struct descriptor *descriptor) {
    return descriptor->flags & O_PATH;
}

static bool may_read(const struct descriptor *descriptor) {
    return (descriptor->flags & O_ACCMODE) != O_WRONLY;
}

static bool may_write(const struct descriptor *descriptor) {
    return (descriptor->flags & O_ACCMODE) != O_RDONLY;
}

/*
 * The pages that the content takes when it is written again. What has come into a pipe by splice(2) may stand in
 * larger pieces than pages, so that more waits in it than it would take by writing.
 */
static uint64_t count_pages(const struct content *content) {
    uint64_t pages = 0;
    uint32_t bytes;
    for (size_t at = 0; content_next(content, &at, &bytes);)
        pages += (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    return pages;
}

/*
 * Settles how large the new pipe is to be. Where the content needs more than
 * there is, it is tried on the pipe itself, which is empty now: a user may not
 * have every size. Then this one is made small, for all of a user's pipes
 * together have a limit.
 */
static int settle_capacity(struct descriptors_source *source, const struct descriptor *reader, int fd,
                           struct pipe_state *pipe) {
    const int before = fcntl(fd, F_GETPIPE_SZ);
    const uint64_t needed = count_pages(&pipe->content) * PAGE_BYTES;
    if (before < 0)
        return -errno;
    pipe->capacity = before;
    if (needed > (uint64_t)before)
        pipe->capacity = needed <= CAPACITY_MAX ? fcntl(fd, F_SETPIPE_SZ, (int)needed) : -1;
    if (pipe->capacity < 0)
        return descriptors_refuse(source, reader, "a pipe that holds more data than a new pipe can");
    (void)fcntl(fd, F_SETPIPE_SZ, LEAST_BYTES); /* it may not be worth it */
    return 0;
}

/* An end to read from, which doesn't block. Where the image has none, a cell could open one, and so do we. */
static int take_reader(const struct descriptors_source *source, const struct descriptor *end) {
    char path[32];
    if (may_read(end))
        return descriptors_take(source, end);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", source->pid, end->fd);
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Empties a pipe. */
static int take_content(struct descriptors_source *source, const struct descriptor *reader, struct pipe_state *pipe) {
    char buf[READ_BYTES];
    ssize_t n;
    auto_fd fd = take_reader(source, reader);
    if (fd < 0)
        return fd;
    pipe->taken = true;
    while ((n = read(fd, buf, sizeof buf)) > 0) {
        int r = content_add(&pipe->content, buf, (uint32_t)n, &source->room);
        if (r)
            return r == -E2BIG ? descriptors_refuse(source, reader, "a pipe" DESCRIPTORS_FULL) : r;
    }
    return n < 0 && errno != EAGAIN ? -errno : settle_capacity(source, reader, fd, pipe);
}

/* The pages that a pipe takes of its user's. */
static uint64_t pages_of(const struct pipe_state *pipe) {
    const uint64_t pages = (uint64_t)pipe->capacity / PAGE_BYTES;
    return pages > USUAL_PAGES ? pages : USUAL_PAGES;
}

/* Whether the pipes of one cell, all together, leave the user's pages to others and to other cells. */
static int check_pages(const struct descriptors_source *source, const struct descriptors *list) {
    uint64_t pages = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (list->at[i].kind != DESCRIPTOR_PIPE || !descriptor_is_object(list, i))
            continue;
        pages += pages_of(list->at[i].state);
        if (pages > PAGES_MAX)
            return descriptors_refuse(source, &list->at[i], "a pipe: all pipes together may take %d pages at most",
                                      PAGES_MAX);
    }
    return 0;
}

int pipes_dump(struct descriptors_source *source, struct descriptors *list) {
    size_t n = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        struct descriptor *descriptor = &list->at[i];
        if (descriptor->kind != DESCRIPTOR_PIPE)
            continue;
        struct descriptor *object = &list->at[descriptor->object];
        if (!object->state) {
            if (++n > PIPES_MAX)
                return descriptors_refuse(source, descriptor, "a pipe: at most %d can be kept", PIPES_MAX);
            struct pipe_state *pipe = calloc(1, sizeof *pipe);
            if (!pipe)
                return -ENOMEM;
            object->state = pipe;
        }
        struct pipe_state *pipe = object->state;
        if (is_path(descriptor))
            continue;
        pipe->open = true;
        pipe->packets |= may_write(descriptor) && (descriptor->flags & O_DIRECT);
        if (!pipe->taken)
            r = take_content(source, descriptor, pipe);
    }
    return r ? r : check_pages(source, list);
}

/* Puts the content into a pipe that a task has made, and gives it the size that it had. */
static int fill(struct restorer *restorer, int made, const struct pipe_state *pipe) {
    const char *piece;
    uint32_t bytes;
    const bool usual = !pipe->taken || pipe->capacity == USUAL_PAGES * PAGE_BYTES;
    if (pipe->content.bytes == 0 && usual)
        return 0;
    auto_fd fd = restorer_take(restorer, made);
    if (fd < 0)
        return fd;
    if (!usual)
        (void)fcntl(fd, F_SETPIPE_SZ, pipe->capacity); /* what matters is whether all fits */
    if (fcntl(fd, F_SETFL, O_NONBLOCK | (pipe->packets ? O_DIRECT : 0)))
        return -errno;
    for (size_t at = 0; (piece = content_next(&pipe->content, &at, &bytes));)
        if (write(fd, piece, bytes) != (ssize_t)bytes)
            return -ENOBUFS;
    return fcntl(fd, F_SETFL, 0) ? -errno : 0;
}

/* Gives each open file of a pipe its part of the new one; made are its ends, the same twice where one is for both. */
static int place(struct restorer *restorer, const struct descriptors *list, size_t object, const int made[2]) {
    bool used[2] = {made[0] == made[1], made[0] == made[1]};
    int r = 0;
    for (size_t i = object; r == 0 && i != DESCRIPTORS_NONE; i = list->at[i].next_object) {
        const int mode = list->at[i].flags & (O_ACCMODE | O_PATH), end = mode == O_WRONLY;
        if (mode & (O_RDWR | O_PATH) || used[end]) {
            int again = restorer_reopen(restorer, made[0], mode);
            if (again < 0)
                return again;
            r = restorer_place(restorer, list, i, again);
            if (r == 0)
                r = restorer_close(restorer, again);
        } else {
            used[end] = true;
            r = restorer_place(restorer, list, i, made[end]);
        }
    }
    if (r == 0)
        r = restorer_close(restorer, made[0]);
    return r == 0 && made[1] != made[0] ? restorer_close(restorer, made[1]) : r;
}

/* What stands at a path, which is at scratch. 0, -ENOENT where it is no FIFO, or another -errno. */
static int look_at_fifo(struct restorer *restorer, const char *path, mode_t *ret_mode) {
    struct stat st;
    int r = restorer_put(restorer, 0, path, strlen(path) + 1);
    if (r)
        return r;
    int found = restorer_do(restorer,
                            (struct inject_call){.number = SYS_newfstatat,
                                                 .argument = {(uint64_t)AT_FDCWD, restorer_at(restorer, 0),
                                                              restorer_at(restorer, PATH_BYTES), AT_SYMLINK_NOFOLLOW}});
    if (found)
        return found == -EUCLEAN ? found : -ENOENT;
    r = restorer_get(restorer, PATH_BYTES, &st, sizeof st);
    *ret_mode = st.st_mode & 07777;
    return r == 0 && !S_ISFIFO(st.st_mode) ? -ENOENT : r;
}

/* A FIFO in the place of the one that a path leads to, which the image has open: they would be one pipe. 0, -ENOENT
 * where there is none, or -EUCLEAN. */
static int renew_fifo(struct restorer *restorer, const char *path) {
    mode_t mode = 0;
    int r = look_at_fifo(restorer, path, &mode);
    const uint64_t at = restorer_at(restorer, 0);
    const struct inject_call calls[] = {
        {.number = SYS_unlink, .argument = {at}},
        {.number = SYS_mknod, .argument = {at, S_IFIFO | S_IRUSR | S_IWUSR}},
        {.number = SYS_chmod, .argument = {at, mode}},
    };
    for (size_t i = 0; r == 0 && i < sizeof calls / sizeof calls[0]; i++)
        r = restorer_do(restorer, calls[i]);
    return r == 0 || r == -EUCLEAN ? r : -ENOENT;
}

/* A FIFO at its path, for both ends, which does not block; a pipe where there is none any more. One that the image has
 * only a path to is the session's, as other files are. */
static int open_fifo(struct restorer *restorer, const char *path, bool is_open, int made[2]) {
    struct stat st;
    int opened = restorer->layered || !is_open ? 0 : renew_fifo(restorer, path);
    if (opened == 0)
        opened = restorer_open(restorer, path, is_open ? O_RDWR | O_NONBLOCK : O_PATH);
    if (opened < 0)
        return opened;
    auto_fd fd = restorer_take(restorer, opened);
    if (fd == -EUCLEAN)
        return fd;
    if (fd < 0 || fstat(fd, &st) || !S_ISFIFO(st.st_mode))
        return restorer_close(restorer, opened) ? -EUCLEAN : -ENOENT;
    made[0] = made[1] = opened;
    return 0;
}

/* The ends of as many new pipes as there are objects. */
static int make(struct restorer *restorer, const struct descriptors *list, const size_t *objects, size_t n,
                int made[AT_ONCE][2]) {
    int r = restorer_run(restorer);
    for (size_t k = 0; r == 0 && k < n; k++)
        r = restorer_add(restorer,
                         (struct inject_call){.number = SYS_pipe2,
                                              .argument = {restorer_at(restorer, k * sizeof made[0]), O_CLOEXEC}});
    if (r == 0)
        r = restorer_run(restorer);
    if (r == 0)
        r = restorer_get(restorer, 0, made, n * sizeof made[0]);
    for (size_t k = 0; r == 0 && k < n; k++) {
        const char *path = list->at[objects[k]].path;
        const struct pipe_state *state = list->at[objects[k]].state;
        int pipe[2] = {made[k][0], made[k][1]};
        const int opened = path ? open_fifo(restorer, path, state->open, made[k]) : -ENOENT;
        r = opened == -EUCLEAN ? opened : 0;
        for (int end = 0; opened == 0 && r == 0 && end < 2; end++)
            r = restorer_close(restorer, pipe[end]);
    }
    return r;
}

static int restore_some(struct restorer *restorer, const struct descriptors *list, const size_t *objects, size_t n) {
    int made[AT_ONCE][2];
    int r = make(restorer, list, objects, n, made);
    for (size_t k = 0; r == 0 && k < n; k++) {
        r = fill(restorer, made[k][1], list->at[objects[k]].state);
        if (r == 0)
            r = place(restorer, list, objects[k], made[k]);
    }
    return r;
}

int pipes_restore(struct descriptors *list, struct restorer *restorer) {
    size_t objects[AT_ONCE], n = 0;
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        if (list->at[i].kind == DESCRIPTOR_PIPE && descriptor_is_object(list, i))
            objects[n++] = i;
        if (n == AT_ONCE) {
            r = restore_some(restorer, list, objects, n);
            n = 0;
        }
    }
    return r == 0 && n ? restore_some(restorer, list, objects, n) : r;
}
