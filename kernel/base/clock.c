/* clock.c - clock_gettime(2) in the units and the text that the kernel uses. */

#include "clock.h"

#include <stdio.h>
#include <time.h>

int64_t clock_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * CLOCK_S + now.tv_nsec / 1000;
}

int64_t clock_date_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void clock_iso(char ret_text[32]) {
    struct timespec now;
    struct tm utc;
    char seconds[20];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(seconds, sizeof seconds, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(ret_text, 32, "%.19s.%06dZ", seconds, (int)(now.tv_nsec / 1000 % 1000000));
}
