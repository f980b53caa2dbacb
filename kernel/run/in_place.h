/*
 * in_place.h - a running cell is looked at from time to time, and its memory copied ahead where that is worth it.
 *
 * A cell that changes a large array in place waits for a copy of each of its pages, since the
 * state before is kept: cell_copy_ahead() makes them in large pieces. The looks
 * become rare where the cell does something else.
 */
#ifndef PETRI_IN_PLACE_H
#define PETRI_IN_PLACE_H

#include "kernel/base/poll_set.h"

#include <stdint.h>

struct cell;

struct in_place {
    int64_t due_us;   /* of the next look; CLOCK_NEVER for none */
    int64_t wait_us;  /* from the last one to it */
    int64_t begun_us; /* when the one that goes on has begun; CLOCK_NEVER for none */
};

/* Before the cell starts, and when it has started. */
void in_place_init(struct in_place *in_place);
void in_place_begin(struct in_place *in_place, int64_t now_us);

/* While it runs. To copy takes some milliseconds of everybody's time. */
void in_place_watch(const struct in_place *in_place, struct poll_set *set);
void in_place_tick(struct in_place *in_place, struct cell *cell, int64_t now_us);

#endif
