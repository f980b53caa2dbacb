#define _GNU_SOURCE
#include "bounds.h"

#include <errno.h>
#include <stddef.h>

/* Limits of all tasks of a session beside that of descriptors. Each is less where the user's own is. */
static const struct {
    __rlimit_resource_t resource;
    rlim_t most;
} rows[] = {
    {RLIMIT_SIGPENDING, 1024},  /* a timer takes one too; users have some thousands for each GiB */
    {RLIMIT_MEMLOCK, 64 << 10}, /* keys and the like; usually 8 MiB */
    {RLIMIT_MSGQUEUE, 0},       /* the filter refuses queues */
};

void bounds_raise_own(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Soft and hard, so that code of cells can't take back what the soft one alone would spare. */
static int lower(pid_t pid, __rlimit_resource_t resource, rlim_t most) {
    struct rlimit limit;
    if (prlimit(pid, resource, NULL, &limit))
        return -errno;
    limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
    limit.rlim_cur = limit.rlim_max;
    return prlimit(pid, resource, &limit, NULL) ? -errno : 0;
}

/* Well below our own also where that is small. */
static rlim_t cells_descriptors(rlim_t hard) {
    return hard / 2 < BOUNDS_DESCRIPTORS ? hard / 2 : BOUNDS_DESCRIPTORS;
}

int bounds_lower(pid_t pid, unsigned spare, struct rlimit *ret_descriptors) {
    struct rlimit own;
    if (getrlimit(RLIMIT_NOFILE, &own))
        return -errno;
    rlim_t descriptors = cells_descriptors(own.rlim_max);
    if (descriptors < 2 * (rlim_t)spare)
        return -EMFILE;
    int r = lower(pid, RLIMIT_NOFILE, descriptors + spare);
    for (size_t i = 0; r == 0 && i < sizeof rows / sizeof rows[0]; i++)
        r = lower(pid, rows[i].resource, rows[i].most);
    if (r == 0)
        *ret_descriptors = (struct rlimit){descriptors, descriptors};
    return r;
}
