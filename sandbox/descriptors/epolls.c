/*
 * epolls.c - finding what an epoll watches, and watching it again.
 *
 * /proc tells the number that a watch was added by, and not what it watches now:
 * the number may be closed, or be another file's. So the number is tried first, by
 * inode or by kcmp(2), and then all others, which takes a bound on the work.
 * Watches are added when everything else is under its number.
 */
#define _GNU_SOURCE
#include "epolls.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <linux/kcmp.h>
#include <malloc.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

/*
 * Of all of an image together. STEPS_MAX: the watches that Linux goes through
 * while we look for what is watched: where the number that it was added by is
 * closed, every descriptor is asked about.
 */
enum { WATCHES_MAX = 8192, STEPS_MAX = 8 << 20, STEPS_OF_CALL = 100, AT_ONCE = INJECT_MAX_CALLS };

struct work {
    size_t watches, steps;
};

struct watch {
    int added_as; /* the number that it was added by; it may be closed by now, or another's */
    int fd;       /* a number that leads to what is watched */
    struct epoll_event event;
};

/* What an epoll watches, in the first row of its open file. */
struct epoll_state {
    size_t n;
    struct watch *watch;
};

void epolls_fini(struct descriptor *descriptor) {
    free(((struct epoll_state *)descriptor->state)->watch);
}

size_t epolls_bytes(const struct descriptor *descriptor) {
    return malloc_usable_size(((struct epoll_state *)descriptor->state)->watch);
}

static bool leads_to(const struct descriptors_source *source, int fd, const struct kcmp_epoll_slot *slot,
                     struct work *work) {
    work->steps += STEPS_OF_CALL + work->watches;
    return syscall(SYS_kcmp, source->pid, source->pid, KCMP_EPOLL_TFD, fd, slot) == 0;
}

/* Whether an inode's number tells what it is: eventfds and the like have one for all of them. */
static bool has_inode(const struct descriptor *descriptor) {
    return descriptor->kind == DESCRIPTOR_PIPE || descriptor->kind == DESCRIPTOR_SOCKET ||
           descriptor->kind == DESCRIPTOR_OUTPUT;
}

/* A number that leads to what is watched, which is often the one it was added by; -1 where there is none. */
static int find_watched(const struct descriptors_source *source, const struct descriptors *list,
                        const struct kcmp_epoll_slot *slot, ino_t inode, struct work *work) {
    size_t i = descriptors_index(list, (int)slot->tfd);
    if (i < list->n && has_inode(&list->at[i]) && list->at[i].inode == inode)
        return (int)slot->tfd;
    if (i < list->n && leads_to(source, (int)slot->tfd, slot, work))
        return (int)slot->tfd;
    for (i = 0; i < list->n && work->steps < STEPS_MAX; i++)
        if (descriptor_is_first(list, i) && leads_to(source, list->at[i].fd, slot, work))
            return list->at[i].fd;
    return -1;
}

static int add_watch(struct epoll_state *state, const struct watch *watch) {
    int r = array_grow(&state->watch, state->n, sizeof *watch);
    if (r == 0)
        state->watch[state->n++] = *watch;
    return r;
}

static int record_watch(const struct descriptors_source *source, const struct descriptors *list,
                        const struct descriptor *descriptor, struct procfs_text line, struct work *work) {
    struct epoll_state *state = descriptor->state;
    struct procfs_watch said;
    struct watch watch;
    if (!procfs_is_watch(line))
        return 0;
    if (!procfs_parse_watch(line, &said))
        return -EBADMSG;
    watch.added_as = said.fd;
    if (++work->watches > WATCHES_MAX)
        return descriptors_refuse(source, descriptor, "an epoll: at most %d watches can be kept", WATCHES_MAX);
    struct kcmp_epoll_slot slot = {.efd = (uint32_t)descriptor->fd, .tfd = (uint32_t)watch.added_as};
    for (size_t i = 0; i < state->n; i++)
        slot.toff += state->watch[i].added_as == watch.added_as;
    watch.fd = find_watched(source, list, &slot, (ino_t)said.inode, work);
    if (work->steps >= STEPS_MAX)
        return descriptors_refuse(source, descriptor, "an epoll with too many watches whose descriptors are closed");
    watch.event = (struct epoll_event){.events = said.events, .data.u64 = said.data};
    return add_watch(state, &watch);
}

static int look_at(const struct descriptors_source *source, const struct descriptors *list,
                   struct descriptor *descriptor, struct work *work) {
    char file[32];
    auto_free char *buf = NULL;
    size_t size = 0;
    struct procfs_text line;
    int r = 0;
    descriptor->state = calloc(1, sizeof(struct epoll_state));
    snprintf(file, sizeof file, "fdinfo/%d", descriptor->fd);
    auto_file info = descriptor->state ? process_open(source->pid, file) : NULL;
    if (!info)
        return -errno;
    while (r == 0 && process_next_line(info, &buf, &size, &line))
        r = record_watch(source, list, descriptor, line, work);
    return r;
}

int epolls_dump(struct descriptors_source *source, struct descriptors *list) {
    struct work work = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_EPOLL && descriptor_is_first(list, i))
            r = look_at(source, list, &list->at[i], &work);
    return r;
}

static int make(struct descriptors *list, struct restorer *restorer, size_t i) {
    int made = restorer_make(restorer, (struct inject_call){.number = SYS_epoll_create1, .argument = {EPOLL_CLOEXEC}});
    int r = made < 0 ? made : restorer_place(restorer, list, i, made);
    return r ? r : restorer_close(restorer, made);
}

/* Adds some watches; one that can't be is left out: what it watched was given as something that can't be watched. */
static int add_some(struct restorer *restorer, int epoll_fd, const struct watch *watch, size_t n) {
    struct inject_call calls[AT_ONCE];
    struct epoll_event events[AT_ONCE];
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        events[i] = watch[i].event;
        if (watch[i].fd >= 0)
            calls[m++] = (struct inject_call){.number = SYS_epoll_ctl,
                                              .argument = {(uint64_t)epoll_fd, EPOLL_CTL_ADD, (uint64_t)watch[i].fd,
                                                           restorer_at(restorer, i * sizeof events[0])}};
    }
    int r = restorer_put(restorer, 0, events, n * sizeof events[0]);
    for (size_t from = 0, failed; r == 0 && from < m; from += failed + 1) {
        r = inject_batch(restorer->task, calls + from, m - from);
        if (inject_failure(calls + from, m - from, &failed) == 0)
            break;
    }
    return r;
}

int epolls_restore(struct descriptors *list, struct restorer *restorer) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_EPOLL && descriptor_is_first(list, i))
            r = make(list, restorer, i);
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        const struct epoll_state *state = list->at[i].state;
        if (list->at[i].kind != DESCRIPTOR_EPOLL || !descriptor_is_first(list, i))
            continue;
        for (size_t from = 0; r == 0 && from < state->n; from += AT_ONCE)
            r = add_some(restorer, list->at[i].fd, state->watch + from,
                         state->n - from < AT_ONCE ? state->n - from : AT_ONCE);
    }
    return r;
}
