/*
 * clock.h - the kernel's two clocks: a monotonic one, and the date.
 */
#ifndef PETRI_CLOCK_H
#define PETRI_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NEVER INT64_MAX  /* no deadline */
#define CLOCK_MS INT64_C(1000) /* microseconds */
#define CLOCK_S INT64_C(1000000)

/* Microseconds of a monotonic clock. See: CLOCK_MONOTONIC in clock_gettime(2). */
int64_t clock_us(void);

/* Milliseconds since 1970; may jump when the system's clock is set. */
int64_t clock_date_ms(void);

/* The date and time now, ISO 8601, UTC, microseconds, "Z": 27 characters and NUL. */
void clock_iso(char ret_text[32]);

/* A moment as nanoseconds since 1970. */
static inline int64_t clock_ns(const struct timespec *time) {
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

/* The earlier of two deadlines. */
static inline int64_t clock_sooner(int64_t a, int64_t b) {
    return a < b ? a : b;
}

#endif
