/*
 * compact.h - a session that has grown gets huge pages while the kernel is idle.
 *
 * Each cell begins with a copy of the session, which takes the longer the more pages it
 * has. So once a session has grown by some megabytes, and the kernel has been idle for a
 * moment on a machine that has a processor to spare, its memory is put into huge pages. The
 * cell made ahead, and the one for a completion, are copies of the old pages: they are
 * discarded first, and made again.
 */
#ifndef PETRI_COMPACT_H
#define PETRI_COMPACT_H

#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct runner;
struct spare;

struct compact {
    uint64_t version;     /* that was looked at last: runner.h */
    uint64_t grown_bytes; /* what the session had grown by when it was put into huge pages, or less if it has shrunk */
    int64_t due_us;       /* of the next look; CLOCK_NEVER while the kernel is not idle, or has nothing new */
};

void compact_init(struct compact *compact);

void compact_watch(const struct compact *compact, struct poll_set *set);

/* is_idle: nothing but the runner may be at work. spare: what is discarded beside the runner's own cell. */
void compact_tick(struct compact *compact, struct runner *runner, struct spare *spare, bool is_idle, int64_t now_us);

#endif
