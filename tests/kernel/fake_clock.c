/* Linked in place of kernel/clock.c. */
#include "fake_clock.h"

#include "kernel/base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

/* The kernel's loop has a thread of its own. */
static _Atomic int64_t later_us, stopped_us;

void fake_clock_put_forward(int64_t us) {
    later_us += us;
}

static int64_t real_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * CLOCK_S + now.tv_nsec / 1000;
}

void fake_clock_stop(void) {
    stopped_us = real_us();
}

void fake_clock_go_on(void) {
    later_us += stopped_us ? stopped_us - real_us() : 0;
    stopped_us = 0;
}

int64_t clock_us(void) {
    const int64_t stopped = stopped_us;
    return (stopped ? stopped : real_us()) + later_us;
}

int64_t clock_date_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* No test looks at what it says. */
void clock_iso(char ret_text[32]) {
    snprintf(ret_text, 32, "2000-01-01T00:00:00.000000Z");
}
