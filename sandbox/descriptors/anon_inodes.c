/*
 * anon_inodes.c - recording and making objects that have no inode of their own.
 *
 * All that these objects are is in their fdinfo, but for an eventfd's semaphore
 * flag on older Linux: that is found by reading one, which the image may lose,
 * for it never uses it again. A timer's next expiry is kept as a moment by its
 * clock, with the expiries that were not read counted back: so the new timer has
 * as many to be read.
 */
#define _GNU_SOURCE
#include "anon_inodes.h"

#include "base/cleanup.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>

enum { NS_PER_S = 1000000000, SIGNAL_SET_BYTES = 8 };

struct eventfd_state {
    uint64_t count;
    bool semaphore;
};

/* armed: then first is the earliest expiry that was not read, by the timer's clock. */
struct timerfd_state {
    int clock;
    bool armed, cancelled_on_set;
    struct itimerspec first;
};

/* Runs record for the first row of each open file of a kind, with what /proc says of it and state_bytes of new state.
 */
static int
dump_all(struct descriptors_source *source, struct descriptors *list, enum descriptor_kind kind, size_t state_bytes,
         int (*record)(struct descriptors_source *source, struct descriptor *descriptor, struct procfs_text text)) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        struct descriptor *descriptor = &list->at[i];
        char file[32], buf[PROCESS_SMALL];
        struct procfs_text text;
        if (descriptor->kind != kind || !descriptor_is_first(list, i))
            continue;
        descriptor->state = calloc(1, state_bytes);
        snprintf(file, sizeof file, "fdinfo/%d", descriptor->fd);
        r = descriptor->state ? process_read(source->pid, file, buf, sizeof buf, &text) : -ENOMEM;
        if (r == 0)
            r = record(source, descriptor, text);
    }
    return r;
}

/* Whether a read gives one at a time, which older Linux does not say; the image never uses the eventfd again. */
static bool is_semaphore(int fd, uint64_t count) {
    const uint64_t two = 2;
    uint64_t value = 0;
    if (count == 1 && read(fd, &value, sizeof value) != sizeof value)
        return false;
    if (count < 2 && write(fd, &two, sizeof two) != sizeof two)
        return false;
    return read(fd, &value, sizeof value) == sizeof value && value == 1;
}

static int record_eventfd(struct descriptors_source *source, struct descriptor *descriptor, struct procfs_text text) {
    struct eventfd_state *state = descriptor->state;
    uint64_t semaphore;
    if (!procfs_find_number(text, "eventfd-count", 16, &state->count))
        return -EBADMSG;
    if (procfs_find_number(text, "eventfd-semaphore", 10, &semaphore)) {
        state->semaphore = semaphore != 0;
        return 0;
    }
    auto_fd fd = descriptors_take(source, descriptor);
    if (fd < 0)
        return fd;
    state->semaphore = is_semaphore(fd, state->count);
    return 0;
}

int anon_inodes_dump_eventfd(struct descriptors_source *source, struct descriptors *list) {
    return dump_all(source, list, DESCRIPTOR_EVENTFD, sizeof(struct eventfd_state), record_eventfd);
}

/* Nanoseconds, INT64_MAX for those that are more. */
static int64_t to_ns(int64_t s, int64_t ns) {
    int64_t all;
    return __builtin_mul_overflow(s, (int64_t)NS_PER_S, &all) || __builtin_add_overflow(all, ns, &all) ? INT64_MAX
                                                                                                       : all;
}

static struct timespec from_ns(int64_t ns) {
    return (struct timespec){.tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S};
}

static int record_timerfd(struct descriptors_source *source, struct descriptor *descriptor, struct procfs_text text) {
    struct timerfd_state *state = descriptor->state;
    uint64_t clock, ticks, flags;
    int64_t s, ns, every_s, every_part_ns;
    struct timespec now;
    (void)source;
    if (!procfs_find_number(text, "clockid", 10, &clock) || clock > INT_MAX ||
        !procfs_find_number(text, "ticks", 10, &ticks) || !procfs_find_number(text, "settime flags", 8, &flags) ||
        !procfs_find_time(text, "it_value", &s, &ns) ||
        !procfs_find_time(text, "it_interval", &every_s, &every_part_ns) || clock_gettime((clockid_t)clock, &now))
        return -EBADMSG;
    state->clock = (int)clock;
    const int64_t every_ns = to_ns(every_s, every_part_ns), left_ns = to_ns(s, ns);
    state->armed = left_ns > 0 || ticks > 0;
    state->cancelled_on_set = flags & TFD_TIMER_CANCEL_ON_SET;
    int64_t first_ns;
    if (__builtin_add_overflow(to_ns(now.tv_sec, now.tv_nsec), left_ns, &first_ns))
        first_ns = INT64_MAX;
    if (ticks > 0 && every_ns > 0 && ticks < (uint64_t)(first_ns / every_ns))
        first_ns -= (int64_t)ticks * every_ns;
    state->first = (struct itimerspec){.it_interval = from_ns(every_ns), .it_value = from_ns(first_ns)};
    return 0;
}

int anon_inodes_dump_timerfd(struct descriptors_source *source, struct descriptors *list) {
    return dump_all(source, list, DESCRIPTOR_TIMERFD, sizeof(struct timerfd_state), record_timerfd);
}

static int record_signalfd(struct descriptors_source *source, struct descriptor *descriptor, struct procfs_text text) {
    (void)source;
    return procfs_find_number(text, "sigmask", 16, descriptor->state) ? 0 : -EBADMSG;
}

int anon_inodes_dump_signalfd(struct descriptors_source *source, struct descriptors *list) {
    return dump_all(source, list, DESCRIPTOR_SIGNALFD, sizeof(uint64_t), record_signalfd);
}

/* Has the task make one for the first row of each open file of a kind, and does with it what remains. */
static int restore_all(struct descriptors *list, struct restorer *restorer, enum descriptor_kind kind,
                       struct inject_call (*make)(struct restorer *restorer, const struct descriptor *descriptor),
                       int (*settle)(struct restorer *restorer, const struct descriptor *descriptor, int made)) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++) {
        if (list->at[i].kind != kind || !descriptor_is_first(list, i))
            continue;
        int made = restorer_make(restorer, make(restorer, &list->at[i]));
        if (made < 0 && made != -EUCLEAN && kind == DESCRIPTOR_INOTIFY) {
            list->at[i].shared = true; /* a user may have few of them, and this one watches nothing of use */
            continue;
        }
        if (made < 0)
            return made;
        r = settle ? settle(restorer, &list->at[i], made) : 0;
        if (r == 0)
            r = restorer_place(restorer, list, i, made);
        if (r == 0)
            r = restorer_close(restorer, made);
    }
    return r;
}

static struct inject_call make_eventfd(struct restorer *restorer, const struct descriptor *descriptor) {
    const struct eventfd_state *state = descriptor->state;
    (void)restorer;
    return (struct inject_call){.number = SYS_eventfd2,
                                .argument = {state->count <= UINT32_MAX ? state->count : 0,
                                             (uint64_t)(EFD_CLOEXEC | (state->semaphore ? EFD_SEMAPHORE : 0))}};
}

/* A count that eventfd(2) does not take at the beginning. */
static int settle_eventfd(struct restorer *restorer, const struct descriptor *descriptor, int made) {
    const struct eventfd_state *state = descriptor->state;
    if (state->count <= UINT32_MAX)
        return 0;
    auto_fd fd = restorer_take(restorer, made);
    if (fd < 0)
        return fd;
    if (poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, 0) != 1)
        return -EUCLEAN; /* not the one that was made: a write could wait for ever */
    return write(fd, &state->count, sizeof state->count) == sizeof state->count ? 0 : -EIO;
}

int anon_inodes_restore_eventfd(struct descriptors *list, struct restorer *restorer) {
    return restore_all(list, restorer, DESCRIPTOR_EVENTFD, make_eventfd, settle_eventfd);
}

static struct inject_call make_timerfd(struct restorer *restorer, const struct descriptor *descriptor) {
    const struct timerfd_state *state = descriptor->state;
    (void)restorer;
    return (struct inject_call){.number = SYS_timerfd_create, .argument = {(uint64_t)state->clock, TFD_CLOEXEC}};
}

static int settle_timerfd(struct restorer *restorer, const struct descriptor *descriptor, int made) {
    const struct timerfd_state *state = descriptor->state;
    if (!state->armed)
        return 0;
    auto_fd fd = restorer_take(restorer, made);
    if (fd < 0)
        return fd;
    const int flags = TFD_TIMER_ABSTIME | (state->cancelled_on_set ? TFD_TIMER_CANCEL_ON_SET : 0);
    return timerfd_settime(fd, flags, &state->first, NULL) ? -errno : 0;
}

int anon_inodes_restore_timerfd(struct descriptors *list, struct restorer *restorer) {
    return restore_all(list, restorer, DESCRIPTOR_TIMERFD, make_timerfd, settle_timerfd);
}

static struct inject_call make_signalfd(struct restorer *restorer, const struct descriptor *descriptor) {
    const int r = restorer_put(restorer, 0, descriptor->state, SIGNAL_SET_BYTES);
    return (struct inject_call){.number = r ? -1 : SYS_signalfd4,
                                .argument = {(uint64_t)-1, restorer_at(restorer, 0), SIGNAL_SET_BYTES, O_CLOEXEC}};
}

int anon_inodes_restore_signalfd(struct descriptors *list, struct restorer *restorer) {
    return restore_all(list, restorer, DESCRIPTOR_SIGNALFD, make_signalfd, NULL);
}

static struct inject_call make_inotify(struct restorer *restorer, const struct descriptor *descriptor) {
    (void)restorer;
    (void)descriptor;
    return (struct inject_call){.number = SYS_inotify_init1, .argument = {O_CLOEXEC}};
}

int anon_inodes_restore_inotify(struct descriptors *list, struct restorer *restorer) {
    return restore_all(list, restorer, DESCRIPTOR_INOTIFY, make_inotify, NULL);
}
