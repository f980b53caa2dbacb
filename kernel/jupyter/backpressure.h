/*
 * backpressure.h - a cell publishes no faster than the slowest subscriber reads.
 *
 * The number of bytes that are published and not sent yet is bounded: over the
 * bound nothing more is read from the running cell, which then blocks in its next
 * write, as with any full pipe. Its clock stops meanwhile (watchdog_stop_clock()), or
 * whoever can connect could have it time out. So a slow subscriber delays a cell, but
 * loses no message, and costs the cell nothing.
 *
 * A subscriber that reads nothing, or too slowly, is disconnected (subscribers.h).
 * Where that does not help, as with a libzmq that does not send through gate.c, the
 * kernel reads from the cell again after some more seconds, and drops and counts
 * the cell's messages until bytes are sent again. So a stuck subscriber does not
 * stop a kernel for ever. Status, replies and the kernel's own errors are never
 * dropped.
 */
#ifndef PETRI_BACKPRESSURE_H
#define PETRI_BACKPRESSURE_H

#include "base/cleanup.h"
#include "kernel/base/log.h"
#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct channels;

struct backpressure {
    const struct channels *channels; /* borrowed, as is log */
    const struct log *log;
    size_t max_bytes;      /* unsent bytes from which on nothing is read */
    int64_t subscriber_us; /* patience with one subscriber: subscribers_charge() */
    int64_t patience_us;   /* time without progress after which messages are dropped */
    size_t least_bytes;    /* the minimum of unsent bytes since it is full */
    int64_t moved_us;      /* the time of that minimum */
    int64_t looked_us;     /* the time of the last tick */
    bool full;
    bool stuck;
};

void backpressure_init(struct backpressure *backpressure, const struct channels *channels, const struct log *log);

/* Whether to read nothing from the cell for now. */
bool backpressure_holds(const struct backpressure *backpressure);

/* Whether to drop the cell's messages. */
bool backpressure_drops(const struct backpressure *backpressure);

void backpressure_watch(const struct backpressure *backpressure, struct poll_set *set);

/* Returns for how many microseconds since the last tick nothing was read from the cell. */
int64_t backpressure_tick(struct backpressure *backpressure, int64_t now_us) MUST_CHECK;

#endif
