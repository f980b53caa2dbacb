/*
 * backpressure.c - two flags, full and stuck, updated in each tick from the number of bytes that are not sent yet.
 *
 * A new minimum of these bytes is progress, and restarts the patience. libzmq
 * does not notify when bytes have been sent, so the loop polls every few
 * milliseconds while the cell is held.
 */

#include "backpressure.h"

#include "kernel/base/clock.h"
#include "kernel/jupyter/channels.h"
#include "kernel/jupyter/subscribers.h"

enum {
    LOOK_AGAIN_MS = 2, /* to poll for progress: libzmq reports XPUB as always writable */
    PATIENCE_S = 45,   /* much longer than those of subscribers.h: to disconnect one affects only that client */
};
#define MAX_BYTES ((size_t)32 << 20)

void backpressure_init(struct backpressure *backpressure, const struct channels *channels, const struct log *log) {
    *backpressure = (struct backpressure){.channels = channels,
                                          .log = log,
                                          .max_bytes = MAX_BYTES,
                                          .subscriber_us = SUBSCRIBERS_PATIENCE_US,
                                          .patience_us = PATIENCE_S * CLOCK_S};
}

static bool is_full(const struct backpressure *backpressure) {
    return channels_unsent_bytes(backpressure->channels) >= backpressure->max_bytes;
}

bool backpressure_holds(const struct backpressure *backpressure) {
    return !backpressure->stuck && is_full(backpressure);
}

bool backpressure_drops(const struct backpressure *backpressure) {
    return backpressure->stuck && is_full(backpressure);
}

void backpressure_watch(const struct backpressure *backpressure, struct poll_set *set) {
    if (backpressure_holds(backpressure))
        poll_set_deadline(set, clock_us() + LOOK_AGAIN_MS * CLOCK_MS);
}

int64_t backpressure_tick(struct backpressure *backpressure, int64_t now_us) {
    size_t unsent = channels_unsent_bytes(backpressure->channels);
    bool was_full = backpressure->full;
    const int64_t full_us = was_full ? now_us - backpressure->looked_us : 0;
    const int64_t held_us = backpressure->stuck ? 0 : full_us;
    if (full_us > 0)
        subscribers_charge(full_us, backpressure->subscriber_us, backpressure->log);
    backpressure->looked_us = now_us;
    backpressure->full = unsent >= backpressure->max_bytes;
    if (!backpressure->full) {
        backpressure->stuck = false;
    } else if (!was_full || unsent < backpressure->least_bytes) {
        backpressure->least_bytes = unsent;
        backpressure->moved_us = now_us;
        backpressure->stuck = false;
    } else if (!backpressure->stuck && now_us - backpressure->moved_us >= backpressure->patience_us) {
        backpressure->stuck = true;
        log_write(backpressure->log, LOG_LEVEL_WARNING, "a client does not read what is published: output is dropped");
    }
    return held_us;
}
