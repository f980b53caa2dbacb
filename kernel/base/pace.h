/*
 * pace.h - limits the rate of events that any client can cause.
 */
#ifndef PETRI_PACE_H
#define PETRI_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at the beginning. */
struct pace {
    int64_t paid_us; /* the time until which all events so far are paid for */
};

/* Whether one more event is within the rate and the burst; then counts it. */
bool pace_allows(struct pace *pace, unsigned per_second, unsigned burst);

#endif
