/*
 * pace.h - so many a second and some in a row: what strangers can cause is bounded by that.
 */
#ifndef PETRI_PACE_H
#define PETRI_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at the beginning. */
struct pace {
    int64_t paid_us; /* until then those that were are paid for */
};

/* Whether one more may be, of per_second and burst in a row; counts it then. */
bool pace_allows(struct pace *pace, unsigned per_second, unsigned burst);

#endif
