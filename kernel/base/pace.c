/*
 * pace.c - the generic cell rate algorithm: keeps the time until which all events so far are paid for.
 *
 * Each event advances that time by 1/per_second; it is never before now. An event
 * is refused where the time is more than a burst ahead.
 *
 * See: ITU-T I.371, "Generic cell rate algorithm".
 */

#include "pace.h"

#include "kernel/base/clock.h"

bool pace_allows(struct pace *pace, unsigned per_second, unsigned burst) {
    int64_t now_us = clock_us(), each_us = CLOCK_S / per_second;
    if (pace->paid_us < now_us)
        pace->paid_us = now_us;
    if (pace->paid_us - now_us > burst * each_us)
        return false;
    pace->paid_us += each_us;
    return true;
}
