/* work_time.c - looks at the thread's own time only once so much time has passed as the thread had left. */

#include "work_time.h"

#include "kernel/base/clock.h"

#include <time.h>

static int64_t thread_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * CLOCK_S + now.tv_nsec / 1000;
}

struct work_time work_time_for(int64_t us) {
    return (struct work_time){.until_us = thread_us() + us, .look_us = clock_us() + us};
}

bool work_time_over(struct work_time *time) {
    const int64_t now = clock_us();
    if (now <= time->look_us)
        return false;
    const int64_t left = time->until_us - thread_us();
    time->look_us = now + left;
    return left <= 0;
}
