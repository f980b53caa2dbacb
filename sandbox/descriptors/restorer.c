/*
 * restorer.c - a queue of calls that become batches.
 *
 * Calls are queued until a result is needed or the table is full, because a batch
 * costs about as much as a single call. So whatever reads or writes the scratch
 * memory runs the queue first: a queued call may point there.
 */
#define _GNU_SOURCE
#include "restorer.h"

#include "sandbox/base/system.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/inject/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* What fcntl(2) sets of an open file; O_ASYNC is left out, for the receiver of the signal depends on the task. */
#define STATUS_FLAGS (O_APPEND | O_NONBLOCK | O_DIRECT | O_NOATIME)

int restorer_run(struct restorer *restorer) {
    size_t n = restorer->n;
    restorer->n = 0;
    int r = n ? inject_batch(restorer->task, restorer->call, n) : 0;
    return r ? r : inject_failure(restorer->call, n, NULL);
}

int restorer_add(struct restorer *restorer, struct inject_call call) {
    int r = restorer->n == INJECT_MAX_CALLS ? restorer_run(restorer) : 0;
    if (r == 0)
        restorer->call[restorer->n++] = call;
    return r;
}

int restorer_call(struct restorer *restorer, struct inject_call *call) {
    int r = restorer_run(restorer);
    return r ? r : inject_batch(restorer->task, call, 1);
}

int restorer_do(struct restorer *restorer, struct inject_call call) {
    int r = restorer_call(restorer, &call);
    return r ? r : inject_result_status(call.result);
}

int restorer_make(struct restorer *restorer, struct inject_call call) {
    int r = restorer_call(restorer, &call);
    return r ? r : inject_result_descriptor(call.result);
}

uint64_t restorer_at(const struct restorer *restorer, size_t offset) {
    return restorer->task->area->scratch + offset;
}

int restorer_put(struct restorer *restorer, size_t offset, const void *data, size_t bytes) {
    int r = restorer_run(restorer);
    if (r == 0 && offset + bytes > INJECT_SCRATCH_BYTES)
        r = -E2BIG;
    return r ? r : memory_write(restorer->task->memory_fd, restorer_at(restorer, offset), data, bytes);
}

int restorer_get(struct restorer *restorer, size_t offset, void *ret_data, size_t bytes) {
    int r = restorer_run(restorer);
    return r ? r : memory_read(restorer->task->memory_fd, restorer_at(restorer, offset), ret_data, bytes);
}

static int open_at(struct restorer *restorer, const char *path, int flags) {
    int r = restorer_put(restorer, 0, path, strlen(path) + 1);
    if (r)
        return r;
    return restorer_make(restorer, (struct inject_call){.number = SYS_openat,
                                                        .argument = {(uint64_t)AT_FDCWD, restorer_at(restorer, 0),
                                                                     (uint64_t)(flags | O_CLOEXEC | O_NOCTTY)}});
}

int restorer_open(struct restorer *restorer, const char *path, int flags) {
    return open_at(restorer, path, flags | O_NOFOLLOW);
}

int restorer_reopen(struct restorer *restorer, int made, int flags) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", made);
    int opened = open_at(restorer, path, (flags & ~O_DIRECT) | O_NONBLOCK);
    if (opened < 0 || (flags & (O_NONBLOCK | O_PATH)))
        return opened;
    int r =
        restorer_add(restorer, (struct inject_call){.number = SYS_fcntl, .argument = {(uint64_t)opened, F_SETFL, 0}});
    return r ? r : opened;
}

int restorer_number(struct restorer *restorer, const struct descriptors *list, size_t first, int made) {
    int r = 0;
    for (size_t i = first; r == 0 && i != DESCRIPTORS_NONE; i = list->at[i].next)
        r = restorer_add(restorer, (struct inject_call){.number = SYS_dup3,
                                                        .argument = {(uint64_t)made, (uint64_t)list->at[i].fd,
                                                                     (uint64_t)(list->at[i].flags & O_CLOEXEC)}});
    return r;
}

int restorer_place(struct restorer *restorer, const struct descriptors *list, size_t first, int made) {
    const int flags = list->at[first].flags;
    int r = restorer_number(restorer, list, first, made);
    if (r == 0 && (flags & STATUS_FLAGS) && !(flags & O_PATH))
        r = restorer_add(restorer,
                         (struct inject_call){.number = SYS_fcntl,
                                              .argument = {(uint64_t)made, F_SETFL, (uint64_t)(flags & STATUS_FLAGS)}});
    return r;
}

int restorer_withhold(struct restorer *restorer, const struct descriptors *list, size_t first) {
    int made = restorer_open(restorer, "/dev/null", O_PATH);
    int r = made < 0 ? made : restorer_number(restorer, list, first, made);
    return r ? r : restorer_close(restorer, made);
}

int restorer_close(struct restorer *restorer, int made) {
    return restorer_add(restorer, (struct inject_call){.number = SYS_close, .argument = {(uint64_t)made}});
}

int restorer_take(struct restorer *restorer, int made) {
    int r = restorer_run(restorer);
    return r ? r : system_pidfd_getfd(restorer->pidfd, made);
}
