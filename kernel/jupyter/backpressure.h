/*
 * backpressure.h - a cell's output is read no faster than the slowest subscriber receives it.
 *
 * The bytes that were published and have not been sent yet are bounded: over the
 * bound nothing more is read from the running cell, which then waits in its next
 * write, as with any full pipe, while its clock goes on. So a flood costs a slow
 * subscriber time, but no message.
 *
 * A subscriber that reads nothing at all is cut off by TCP after a while
 * (channels.c), and what waited for it is gone. Where that can't be (ipc), or has
 * not helped, the kernel goes on after some more seconds and drops the cell's
 * messages, counted, until others are sent again: a stuck subscriber does not
 * stop a kernel for ever. Status, replies and the kernel's own errors are never
 * dropped.
 */
#ifndef PETRI_BACKPRESSURE_H
#define PETRI_BACKPRESSURE_H

#include "kernel/base/log.h"
#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct channels;

struct backpressure {
    const struct channels *channels; /* borrowed, as is log */
    const struct log *log;
    size_t max_bytes;    /* published and not left yet, from which on nothing is read */
    int64_t patience_us; /* without any of it leaving, until it is dropped */
    size_t least_bytes;  /* the fewest seen since it is full */
    int64_t moved_us;    /* when that was */
    bool full;
    bool stuck;
};

void backpressure_init(struct backpressure *backpressure, const struct channels *channels, const struct log *log);

/* Whether to read nothing from the cell for now. */
bool backpressure_holds(const struct backpressure *backpressure);

/* Whether to drop what the cell says. */
bool backpressure_drops(const struct backpressure *backpressure);

void backpressure_watch(const struct backpressure *backpressure, struct poll_set *set);
void backpressure_tick(struct backpressure *backpressure, int64_t now_us);

#endif
