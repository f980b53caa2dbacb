/*
 * descriptors.c - the table of kinds, and what does not depend on the kind.
 *
 * Dump: the numbers are listed, each is told by its link in /proc and by its
 * inode, and rows are related: those with the same open file behind them
 * (kcmp(2)), and those on the same object. Then each kind records its state once
 * for an open file or an object. Most cells open and close nothing for good; so
 * first it is tried whether all rows are the very open files of the image before,
 * and then nothing but flags is read.
 *
 * Restore: each kind makes its objects, in the order of enum descriptor_kind, and
 * puts them under the numbers that they had. Epolls come last, because they refer
 * to the others, and locks after all, because to close any descriptor of a file
 * ends its owner's record locks.
 *
 * What is in no row of the table, or can't be recorded, is refused here, at the
 * freeze, while its cell can still be rolled back.
 */
#define _GNU_SOURCE
#include "descriptors.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/slices.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/descriptors/anon_inodes.h"
#include "sandbox/descriptors/epolls.h"
#include "sandbox/descriptors/locks.h"
#include "sandbox/descriptors/open_files.h"
#include "sandbox/descriptors/own_pipes.h"
#include "sandbox/descriptors/pipes.h"
#include "sandbox/descriptors/sockets.h"
#include "sandbox/process/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { CONTENT_MAX_BYTES = 16 << 20 }; /* that waits in an image's pipes and sockets */
enum { OUTPUT_MODE = 0600 };           /* as pipe(2) makes it */
enum { LOCKS_BYTES = 8192 };           /* of an fdinfo: room for more than LOCKS_MAX lines */

#define KEPT_FLAGS                                                                                                     \
    (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | O_DIRECT | O_DIRECTORY | O_NOATIME | O_PATH | O_CLOEXEC)
#define STATUS_FLAGS (O_APPEND | O_NONBLOCK | O_ASYNC | O_DIRECT | O_NOATIME)

static int restore_kept(struct descriptors *list, struct restorer *restorer);

/*
 * What is done for each kind, in this order where there is an order. dump:
 * records the state of all of the kind, and refuses what has none that could be
 * given; restore: makes them for a new cell; put_back: takes back what a
 * rolled-back cell did to a shared one, beside its flags and offset, by a
 * duplicate; fini: frees what the state of one owns; bytes: how much that is.
 */
static const struct {
    int (*dump)(struct descriptors_source *source, struct descriptors *list);
    int (*restore)(struct descriptors *list, struct restorer *restorer);
    int (*put_back)(const struct descriptor *descriptor, int fd);
    void (*fini)(struct descriptor *descriptor);
    size_t (*bytes)(const struct descriptor *descriptor);
} kinds[] = {
    [DESCRIPTOR_KEPT] = {.restore = restore_kept},
    [DESCRIPTOR_OUTPUT] = {.restore = NULL}, /* own_pipes.h */
    [DESCRIPTOR_FILE] = {.restore = open_files_restore},
    [DESCRIPTOR_UNNAMED] = {.restore = open_files_restore_unnamed},
    [DESCRIPTOR_MEMFD] = {.dump = NULL}, /* shared.h */
    [DESCRIPTOR_PIPE] = {.dump = pipes_dump, .restore = pipes_restore, .fini = pipes_fini, .bytes = pipes_bytes},
    [DESCRIPTOR_SOCKET] = {sockets_dump, sockets_restore, sockets_put_back, sockets_fini, sockets_bytes},
    [DESCRIPTOR_EVENTFD] = {.dump = anon_inodes_dump_eventfd, .restore = anon_inodes_restore_eventfd},
    [DESCRIPTOR_TIMERFD] = {.dump = anon_inodes_dump_timerfd, .restore = anon_inodes_restore_timerfd},
    [DESCRIPTOR_SIGNALFD] = {.dump = anon_inodes_dump_signalfd, .restore = anon_inodes_restore_signalfd},
    [DESCRIPTOR_INOTIFY] = {.restore = anon_inodes_restore_inotify},
    [DESCRIPTOR_EPOLL] = {.dump = epolls_dump, .restore = epolls_restore, .fini = epolls_fini, .bytes = epolls_bytes},
};
_Static_assert(sizeof kinds / sizeof kinds[0] == DESCRIPTOR_KINDS, "one row a kind");

/*
 * How a descriptor's link begins where what it leads to has no path, and what it is. opens: Linux opens it once more by
 * /proc/self/fd, for writing too. So a descriptor that is only a path to it (O_PATH) is no less than an open one, and
 * is of the same kind. With a path to one of the others nothing can be done.
 */
static const struct {
    const char *link;
    enum descriptor_kind kind;
    bool opens;
} links[] = {
    {"pipe:[", DESCRIPTOR_PIPE, true},
    {"/memfd:", DESCRIPTOR_MEMFD, true},
    {"socket:[", DESCRIPTOR_SOCKET, false},
    {"anon_inode:[eventfd]", DESCRIPTOR_EVENTFD, false},
    {"anon_inode:[eventpoll]", DESCRIPTOR_EPOLL, false},
    {"anon_inode:[timerfd]", DESCRIPTOR_TIMERFD, false},
    {"anon_inode:[signalfd]", DESCRIPTOR_SIGNALFD, false},
    {"anon_inode:inotify", DESCRIPTOR_INOTIFY, false},
    {"anon_inode:[pidfd]", DESCRIPTOR_KEPT, false},
    {"pidfd:[", DESCRIPTOR_KEPT, false},
};

void descriptors_fini(struct descriptors *list) {
    for (size_t i = 0; i < list->n; i++) {
        struct descriptor *descriptor = &list->at[i];
        if (descriptor->state && kinds[descriptor->kind].fini)
            kinds[descriptor->kind].fini(descriptor);
        free(descriptor->state);
        free(descriptor->path);
    }
    free(list->at);
    *list = (struct descriptors){0};
}

uint64_t descriptors_bytes(const struct descriptors *list) {
    uint64_t bytes = malloc_usable_size(list->at);
    for (size_t i = 0; i < list->n; i++) {
        const struct descriptor *descriptor = &list->at[i];
        bytes += malloc_usable_size(descriptor->path) + malloc_usable_size(descriptor->state);
        if (descriptor->state && kinds[descriptor->kind].bytes)
            bytes += kinds[descriptor->kind].bytes(descriptor);
    }
    return bytes;
}

/* The numbers of a process' descriptors, in order, but for its control socket. */
static int list_numbers(int dir_fd, struct descriptors *list, struct error *error) {
    auto_fd copy = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
    auto_dir dir = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *entry;
    if (!dir)
        return -errno;
    (void)steal_fd(&copy);
    while ((entry = readdir(dir))) {
        int fd;
        if (!procfs_parse_id(entry->d_name, &fd) || fd == SANDBOX_CONTROL_FD)
            continue;
        if (list->n == DESCRIPTORS_MAX)
            return step_failed(error, STEP_DESCRIPTORS, ENOTSUP, "more than %d open files", DESCRIPTORS_MAX);
        if (array_grow(&list->at, list->n, sizeof *list->at))
            return -ENOMEM;
        list->at[list->n++] = (struct descriptor){.fd = fd};
    }
    descriptors_sort(list);
    return 0;
}

/* Of an open file, by any of its duplicates. */
static void unlock(int fd) {
    struct flock none = {.l_type = F_UNLCK};
    (void)flock(fd, LOCK_UN);
    (void)fcntl(fd, F_OFD_SETLK, &none);
}

/* Locks are noted, and those of open files ended. A lease would keep a file from being opened, and only its owner can
 * end it. */
static int take_locks(const struct descriptors_source *source, struct descriptor *descriptor, struct procfs_text info) {
    auto_fd fd = system_pidfd_getfd(source->pidfd, descriptor->fd);
    if (fd < 0)
        return fd;
    if (fcntl(fd, F_GETLEASE) != F_UNLCK)
        return descriptors_refuse(source, descriptor, "a file with a lease (F_SETLEASE)");
    int r = S_ISREG(descriptor->mode) || S_ISDIR(descriptor->mode) ? locks_note(info, descriptor) : 0;
    unlock(fd);
    return r == -E2BIG ? descriptors_refuse(source, descriptor, "a file with more than %d locks", LOCKS_MAX) : r;
}

static int read_flags(const struct descriptors_source *source, const char *name, struct descriptor *descriptor) {
    char buf[LOCKS_BYTES];
    uint64_t flags;
    auto_fd fd = openat(source->info_fd, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof buf); /* locks stand before what may be long */
    if (n < 0)
        return -errno;
    struct procfs_text text = {buf, (size_t)n}, locks;
    if (!procfs_find_signed(text, "pos", &descriptor->offset) || !procfs_find_number(text, "flags", 8, &flags) ||
        flags > INT_MAX)
        return -EBADMSG;
    descriptor->flags = (int)flags;
    if ((descriptor->flags & O_TMPFILE) == O_TMPFILE)
        descriptor->flags &= ~O_DIRECTORY; /* O_TMPFILE has its bit, and is no folder */
    descriptor->flags &= KEPT_FLAGS;
    return procfs_find(text, "lock", &locks) ? take_locks(source, descriptor, text) : 0;
}

/* Which kind it is, by what Linux says it leads to. */
static int tell_kind(const struct descriptors_source *source, const char *name, struct descriptor *descriptor) {
    char link[PATH_MAX];
    ssize_t bytes = readlinkat(source->dir_fd, name, link, sizeof link - 1);
    if (bytes < 0)
        return -errno;
    link[bytes] = 0;
    const bool is_file = S_ISREG(descriptor->mode) || S_ISDIR(descriptor->mode), is_path = descriptor->flags & O_PATH;
    size_t n = sizeof links / sizeof links[0], i = 0;
    while (i < n && strncmp(link, links[i].link, strlen(links[i].link)) != 0)
        i++;
    if (i < n)
        descriptor->kind = is_path && !links[i].opens ? DESCRIPTOR_KEPT : links[i].kind;
    else if (link[0] == '/' && S_ISFIFO(descriptor->mode))
        descriptor->kind = DESCRIPTOR_PIPE;
    else if (link[0] == '/' && (is_file || is_path))
        return open_files_tell(source, link, descriptor);
    else if (link[0] == '/' && S_ISCHR(descriptor->mode))
        descriptor->kind = DESCRIPTOR_KEPT;
    else
        return descriptors_refuse(source, descriptor, "%.40s", link);
    if (link[0] != '/' || descriptor->kind == DESCRIPTOR_KEPT)
        return 0;
    descriptor->path = strdup(link); /* of a FIFO, and what a memfd is called */
    return descriptor->path ? 0 : -ENOMEM;
}

/* Which of the pipes that we read it is an end of, or DESCRIPTORS_OUTPUTS. */
static int find_output(const struct descriptors_source *source, const struct stat *st) {
    struct stat output;
    int i = 0;
    while (i < DESCRIPTORS_OUTPUTS &&
           (fstat(source->known->outputs[i], &output) || output.st_dev != st->st_dev || output.st_ino != st->st_ino))
        i++;
    return i;
}

/*
 * Most of what an image has, the image before it had too: the very same open
 * files, of which only the flags can have changed. Then all else need not be
 * asked, which is most of the cost. Whether it is closed at an exec is of no
 * consequence here: what is kept is copied with the table of descriptors.
 */
static bool is_known(const struct descriptors_source *source, struct descriptor *descriptor) {
    const struct descriptors *listed = source->known->listed;
    const size_t i = listed ? descriptors_index(listed, descriptor->fd) : 0;
    if (!listed || i == listed->n)
        return false;
    const struct descriptor *before = &listed->at[i];
    if ((before->kind != DESCRIPTOR_KEPT && before->kind != DESCRIPTOR_OUTPUT) || S_ISREG(before->mode) ||
        S_ISDIR(before->mode) ||
        syscall(SYS_kcmp, source->known->before, source->pid, KCMP_FILE, before->fd, descriptor->fd) != 0)
        return false;
    auto_fd fd = system_pidfd_getfd(source->pidfd, descriptor->fd);
    const int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags < 0)
        return false;
    *descriptor = *before;
    descriptor->flags = (before->flags & ~STATUS_FLAGS) | (flags & STATUS_FLAGS);
    return true;
}

static int look_at(const struct descriptors_source *source, struct descriptor *descriptor) {
    char name[16];
    struct stat st;
    if (is_known(source, descriptor))
        return 0;
    snprintf(name, sizeof name, "%d", descriptor->fd);
    if (fstatat(source->dir_fd, name, &st, 0))
        return -errno;
    descriptor->mode = st.st_mode;
    descriptor->device = st.st_dev;
    descriptor->inode = st.st_ino;
    descriptor->bytes = (uint64_t)st.st_size;
    int r = read_flags(source, name, descriptor);
    if (r)
        return r;
    descriptor->output = S_ISFIFO(st.st_mode) ? find_output(source, &st) : DESCRIPTORS_OUTPUTS;
    if (descriptor->output < DESCRIPTORS_OUTPUTS) {
        descriptor->kind = descriptor->output < DESCRIPTORS_SILENCED ? DESCRIPTOR_OUTPUT : DESCRIPTOR_KEPT;
        return 0;
    }
    return tell_kind(source, name, descriptor);
}

/* For sorting: the same open files side by side, and the same objects. */
struct order {
    const struct descriptors *list;
    pid_t pid;
};

static bool same_object(const struct descriptor *a, const struct descriptor *b) {
    return a->kind == b->kind && a->device == b->device && a->inode == b->inode;
}

/* kcmp(2) orders open files; 0 where they are the same. */
static int by_open_file(const struct order *order, const struct descriptor *a, const struct descriptor *b) {
    slices_step();
    long r = syscall(SYS_kcmp, order->pid, order->pid, KCMP_FILE, a->fd, b->fd);
    return r == 0 ? 0 : r == 1 ? -1 : r == 2 ? 1 : (a->fd > b->fd) - (a->fd < b->fd);
}

static int by_object(const void *x, const void *y, void *arg) {
    const struct order *order = arg;
    const struct descriptor *a = &order->list->at[*(const size_t *)x], *b = &order->list->at[*(const size_t *)y];
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->inode != b->inode)
        return a->inode < b->inode ? -1 : 1;
    int r = by_open_file(order, a, b);
    return r ? r : (a->fd > b->fd) - (a->fd < b->fd);
}

/* Links what shares an open file, and what shares an object. Those that are kept need neither. */
static int relate(pid_t pid, struct descriptors *list) {
    struct order order = {list, pid};
    size_t n = 0;
    auto_free size_t *sorted = malloc((list->n + 1) * sizeof *sorted);
    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < list->n; i++) {
        list->at[i].first = list->at[i].object = i;
        list->at[i].next = list->at[i].next_object =
            DESCRIPTORS_NONE; /* a row that was known has those of an earlier list */
        if (list->at[i].kind != DESCRIPTOR_KEPT)
            sorted[n++] = i;
    }
    if (n)
        qsort_r(sorted, n, sizeof *sorted, by_object, &order);
    for (size_t k = 1; k < n; k++) {
        struct descriptor *before = &list->at[sorted[k - 1]], *here = &list->at[sorted[k]];
        if (!same_object(before, here))
            continue;
        here->object = before->object;
        if (by_open_file(&order, before, here) == 0) {
            here->first = before->first;
            before->next = sorted[k];
        } else {
            list->at[before->first].next_object = sorted[k];
        }
    }
    return 0;
}

/*
 * Whether nothing but flags can differ from what the image before had: an
 * ordinary cell neither opens nor closes anything for good. 1, 0 where one must
 * look at all of it, or -errno. See: proc_pid_fd(5), its size.
 */
static int is_as_before(const struct descriptors_source *source, struct descriptors *list) {
    const struct descriptors *listed = source->known->listed;
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd", source->pid);
    if (!listed || stat(path, &st) || (size_t)st.st_size != listed->n + 1)
        return 0;
    list->at = calloc(listed->n, sizeof *list->at);
    if (!list->at)
        return -ENOMEM;
    for (size_t i = 0; i < listed->n; i++) {
        list->at[i].fd = listed->at[i].fd;
        if (!is_known(source, &list->at[i]))
            return 0;
    }
    list->n = listed->n;
    memcpy(list->of_kind, listed->of_kind, sizeof list->of_kind);
    return 1;
}

/* Looks at all that is open. */
static int look_at_all(struct descriptors_source *source, struct descriptors *list) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/fd", source->pid);
    auto_fd dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof path, "/proc/%d/fdinfo", source->pid);
    auto_fd info_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    source->dir_fd = dir_fd;
    source->info_fd = info_fd;
    free(list->at);
    *list = (struct descriptors){0};
    int r = dir_fd < 0 || info_fd < 0 ? -errno : list_numbers(dir_fd, list, source->error);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        slices_step();
        r = look_at(source, &list->at[i]);
        list->of_kind[list->at[i].kind]++;
    }
    if (r == 0 &&
        list->n - list->of_kind[DESCRIPTOR_KEPT] - list->of_kind[DESCRIPTOR_OUTPUT] > DESCRIPTORS_RESTORED_MAX)
        return step_failed(source->error, STEP_DESCRIPTORS, ENOTSUP, "more than %d open files, pipes and sockets",
                           DESCRIPTORS_RESTORED_MAX);
    if (r == 0)
        r = relate(source->pid, list);
    for (int kind = 0; r == 0 && kind < DESCRIPTOR_KINDS; kind++)
        if (list->of_kind[kind] && kinds[kind].dump)
            r = kinds[kind].dump(source, list);
    return r;
}

int descriptors_dump(pid_t pid, const struct descriptors_known *known, struct descriptors *ret,
                     struct error *ret_error) {
    struct descriptors list = {0};
    auto_fd pidfd = system_pidfd_open(pid);
    struct descriptors_source source = {
        .pid = pid, .pidfd = pidfd, .known = known, .room = CONTENT_MAX_BYTES, .error = ret_error};
    int r = pidfd < 0 ? pidfd : is_as_before(&source, &list);
    if (r == 0)
        r = look_at_all(&source, &list);
    if (r < 0)
        descriptors_fini(&list);
    else
        *ret = list;
    return r < 0 ? r : 0;
}

/*
 * What cells share with the image is put back when one is rolled back; what a cell
 * beside the session's own has changed would not be. So it gets devices of its own, and
 * of the rest only the numbers; petri's pipe for traces is all that an ephemeral one shares.
 */
static int restore_kept(struct descriptors *list, struct restorer *restorer) {
    int r = 0;
    for (size_t i = 0; r == 0 && restorer->beside && i < list->n; i++) {
        const struct descriptor *descriptor = &list->at[i];
        if (descriptor->kind != DESCRIPTOR_KEPT || S_ISFIFO(descriptor->mode))
            continue;
        int made = S_ISCHR(descriptor->mode) ? restorer_reopen(restorer, descriptor->fd, descriptor->flags) : -EACCES;
        if (made == -EUCLEAN)
            return made;
        r = made < 0 ? restorer_withhold(restorer, list, i) : restorer_place(restorer, list, i, made);
        if (r == 0 && made >= 0)
            r = restorer_close(restorer, made);
    }
    return r;
}

int descriptors_restore(struct descriptors *list, struct restorer *restorer) {
    int r = restorer->beside ? own_pipes_restore(list, restorer) : 0;
    for (int kind = 0; r == 0 && kind < DESCRIPTOR_KINDS; kind++)
        if (list->of_kind[kind] && kinds[kind].restore)
            r = kinds[kind].restore(list, restorer);
    return r ? r : locks_restore(list, restorer);
}

/* Only what differs is set, so that nothing is asked of a file that is unchanged. */
static int put_back(int pidfd, const struct descriptor *descriptor) {
    auto_fd fd = system_pidfd_getfd(pidfd, descriptor->fd);
    if (fd < 0)
        return fd;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0)
        return -errno;
    if ((flags ^ descriptor->flags) & STATUS_FLAGS &&
        fcntl(fd, F_SETFL, (flags & ~STATUS_FLAGS) | (descriptor->flags & STATUS_FLAGS)))
        return -errno;
    if (kinds[descriptor->kind].put_back)
        return kinds[descriptor->kind].put_back(descriptor, fd);
    off_t now = S_ISREG(descriptor->mode) || S_ISDIR(descriptor->mode) ? lseek(fd, 0, SEEK_CUR) : -1;
    if (now < 0 || now == descriptor->offset)
        return 0; /* it has none, or it has not moved */
    return lseek(fd, descriptor->offset, SEEK_SET) < 0 ? -errno : 0;
}

/* Whether a cell has the image's own open file. */
static bool is_shared(const struct descriptor *descriptor) {
    const bool kept = descriptor->kind == DESCRIPTOR_KEPT || descriptor->kind == DESCRIPTOR_OUTPUT;
    return (kept || descriptor->shared) && !(descriptor->flags & O_PATH);
}

int descriptors_put_back(const struct descriptors *list, pid_t pid) {
    auto_fd pidfd = system_pidfd_open(pid);
    int result = pidfd < 0 ? pidfd : 0;
    for (size_t i = 0; pidfd >= 0 && i < list->n; i++) {
        const struct descriptor *descriptor = &list->at[i];
        int r = is_shared(descriptor) ? put_back(pidfd, descriptor) : 0;
        result = result ? result : r;
    }
    return result;
}

void descriptors_end_cell(const struct descriptors *list, pid_t pid, const int outputs[DESCRIPTORS_OUTPUTS]) {
    struct stat st;
    auto_fd pidfd = system_pidfd_open(pid);
    for (size_t i = 0; pidfd >= 0 && i < list->n; i++) {
        auto_fd fd = is_shared(&list->at[i]) ? system_pidfd_getfd(pidfd, list->at[i].fd) : -1;
        if (fd >= 0)
            unlock(fd);
    }
    for (int i = 0; i < DESCRIPTORS_OUTPUTS; i++)
        if (fstat(outputs[i], &st) == 0 && (st.st_mode & 07777) != OUTPUT_MODE)
            (void)fchmod(outputs[i], OUTPUT_MODE);
}
