/*
 * in_place.c - see in_place.h.
 *
 * From look to look the time doubles, and begins anew where something was copied. Looks that
 * take long are rare: there is much to look at, or Linux is slow, to which a cell can see.
 */

#include "in_place.h"

#include "kernel/base/clock.h"
#include "sandbox/sandbox.h"

#include <errno.h>

enum {
    FIRST_MS = 4, /* from the cell's start: most are over by then */
    NEXT_MS = 1,  /* after a copy: the cell goes through the copied memory at once */
    MOST_MS = 32,
    LOOKS = 16,          /* the same, in the time that the look took */
    SLOW_MS = 8,         /* a look that finds nothing, and took longer, is at once as rare as that */
    COPY_MS = 15,        /* at once: messages and other runs wait for it */
    BYTES_PER_US = 1000, /* what a cell copies by itself, by page faults */
    SLOW_COPIES = 4,     /* after a slower one, in the time that it took */
};

void in_place_init(struct in_place *in_place) {
    *in_place = (struct in_place){.due_us = CLOCK_NEVER, .begun_us = CLOCK_NEVER};
}

void in_place_begin(struct in_place *in_place, int64_t now_us) {
    in_place->wait_us = FIRST_MS * CLOCK_MS;
    in_place->due_us = now_us + in_place->wait_us;
}

void in_place_watch(const struct in_place *in_place, struct poll_set *set) {
    poll_set_deadline(set, in_place->due_us);
}

static bool has_time(void *arg) {
    const int64_t *until_us = arg;
    return clock_us() < *until_us;
}

static int64_t longer(int64_t a_us, int64_t b_us) {
    return a_us > b_us ? a_us : b_us;
}

static int64_t next_wait_us(int64_t wait_us, int64_t took_us, bool copies, uint64_t bytes) {
    const int64_t rare_us = longer(LOOKS * took_us, MOST_MS * CLOCK_MS);
    if (bytes == 0 && !copies)
        return took_us > SLOW_MS * CLOCK_MS ? rare_us : clock_sooner(2 * wait_us, rare_us);
    return bytes < (uint64_t)took_us * BYTES_PER_US ? SLOW_COPIES * took_us : NEXT_MS * CLOCK_MS;
}

void in_place_tick(struct in_place *in_place, struct cell *cell, int64_t now_us) {
    const int64_t before_us = clock_us();
    int64_t until_us = before_us + COPY_MS * CLOCK_MS;
    uint64_t bytes;
    if (in_place->due_us > now_us)
        return;
    in_place->begun_us = clock_sooner(in_place->begun_us, before_us);
    int r = cell_copy_ahead(cell, has_time, &until_us, &bytes);
    const int64_t after_us = clock_us();
    const bool copies = after_us - before_us >= COPY_MS * CLOCK_MS;
    if (r == -EAGAIN) {
        in_place->due_us = after_us + NEXT_MS * CLOCK_MS;
        return;
    }
    in_place->wait_us = next_wait_us(in_place->wait_us, after_us - in_place->begun_us, copies, bytes);
    in_place->due_us = r ? CLOCK_NEVER : after_us + in_place->wait_us;
    in_place->begun_us = CLOCK_NEVER;
}
