/*
 * pace.h - a rate limit with a burst, for what unauthenticated peers can cause.
 */
#ifndef PETRI_PACE_H
#define PETRI_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at the beginning. */
struct pace {
    int64_t paid_us; /* until then the earlier ones count */
};

/* Whether one more is within per_second and burst; counts it then. */
bool pace_allows(struct pace *pace, unsigned per_second, unsigned burst);

#endif
