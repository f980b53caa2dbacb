/*
 * work_time.h - how much a thread may work on something.
 *
 * It counts time of the processor, so that what others take of it meanwhile changes no result.
 *
 * See: CLOCK_THREAD_CPUTIME_ID in clock_gettime(2).
 */
#ifndef PETRI_WORK_TIME_H
#define PETRI_WORK_TIME_H

#include <stdbool.h>
#include <stdint.h>

struct work_time {
    int64_t until_us; /* of the thread's own time */
    int64_t look_us;  /* of clock_us(): not over before */
};

/* So many microseconds from now on, for the thread that calls. */
struct work_time work_time_for(int64_t us);

/* Whether the thread has worked so long. Cheap: mostly it reads clock_us() and no more. */
bool work_time_over(struct work_time *time);

#endif
