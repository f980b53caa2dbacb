#define _GNU_SOURCE
#include "giver.h"

#include "sandbox/base/system.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/inject/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* What fcntl(2) sets of an open file; O_ASYNC is left out, for who gets the signal is the task's own. */
#define STATUS_FLAGS (O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME)

int giver_run(struct giver *giver) {
    size_t n = giver->n;
    giver->n = 0;
    int r = n ? remote_run(giver->task, giver->call, n) : 0;
    return r ? r : remote_failure(giver->call, n, NULL);
}

int giver_add(struct giver *giver, struct remote_call call) {
    int r = giver->n == REMOTE_MAX_CALLS ? giver_run(giver) : 0;
    if (r == 0)
        giver->call[giver->n++] = call;
    return r;
}

int giver_call(struct giver *giver, struct remote_call *call) {
    int r = giver_run(giver);
    return r ? r : remote_run(giver->task, call, 1);
}

int giver_do(struct giver *giver, struct remote_call call) {
    int r = giver_call(giver, &call);
    return r ? r : remote_as_nothing(call.result);
}

int giver_make(struct giver *giver, struct remote_call call) {
    int r = giver_call(giver, &call);
    return r ? r : remote_as_descriptor(call.result);
}

uint64_t giver_at(const struct giver *giver, size_t offset) {
    return giver->task->site->scratch + offset;
}

int giver_put(struct giver *giver, size_t offset, const void *data, size_t bytes) {
    int r = giver_run(giver);
    if (r == 0 && offset + bytes > REMOTE_SCRATCH_BYTES)
        r = -E2BIG;
    return r ? r : memory_write(giver->task->memory_fd, giver_at(giver, offset), data, bytes);
}

int giver_get(struct giver *giver, size_t offset, void *ret_data, size_t bytes) {
    int r = giver_run(giver);
    return r ? r : memory_read(giver->task->memory_fd, giver_at(giver, offset), ret_data, bytes);
}

static int open_at(struct giver *giver, const char *path, int flags) {
    int r = giver_put(giver, 0, path, strlen(path) + 1);
    if (r)
        return r;
    return giver_make(giver, (struct remote_call){.number = SYS_openat,
                                                  .argument = {(uint64_t)AT_FDCWD, giver_at(giver, 0),
                                                               (uint64_t)(flags | O_CLOEXEC | O_NOCTTY)}});
}

int giver_open(struct giver *giver, const char *path, int flags) {
    return open_at(giver, path, flags | O_NOFOLLOW);
}

int giver_reopen(struct giver *giver, int made, int flags) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", made);
    int opened = open_at(giver, path, flags | O_NONBLOCK);
    if (opened < 0 || (flags & O_NONBLOCK))
        return opened;
    int r = giver_add(giver, (struct remote_call){.number = SYS_fcntl, .argument = {(uint64_t)opened, F_SETFL, 0}});
    return r ? r : opened;
}

int giver_number(struct giver *giver, const struct descriptors *list, size_t first, int made) {
    int r = 0;
    for (size_t i = first; r == 0 && i != DESCRIPTORS_NONE; i = list->at[i].next)
        r = giver_add(giver, (struct remote_call){.number = SYS_dup3,
                                                  .argument = {(uint64_t)made, (uint64_t)list->at[i].fd,
                                                               (uint64_t)(list->at[i].flags & O_CLOEXEC)}});
    return r;
}

int giver_place(struct giver *giver, const struct descriptors *list, size_t first, int made) {
    const int flags = list->at[first].flags;
    int r = giver_number(giver, list, first, made);
    if (r == 0 && (flags & STATUS_FLAGS) && !(flags & O_PATH))
        r = giver_add(giver,
                      (struct remote_call){.number = SYS_fcntl,
                                           .argument = {(uint64_t)made, F_SETFL, (uint64_t)(flags & STATUS_FLAGS)}});
    return r;
}

int giver_withhold(struct giver *giver, const struct descriptors *list, size_t first) {
    int made = giver_open(giver, "/dev/null", O_PATH);
    int r = made < 0 ? made : giver_number(giver, list, first, made);
    return r ? r : giver_close(giver, made);
}

int giver_close(struct giver *giver, int made) {
    return giver_add(giver, (struct remote_call){.number = SYS_close, .argument = {(uint64_t)made}});
}

int giver_take(struct giver *giver, int made) {
    int r = giver_run(giver);
    return r ? r : system_pidfd_getfd(giver->pidfd, made);
}
