/*
 * load.c - see load.h.
 *
 * The fourth field of loadavg is the number of tasks that want to run at this moment: the
 * averages before it are of minutes, and tell of what is over.
 */
#define _GNU_SOURCE
#include "load.h"

#include "base/cleanup.h"

#include <sched.h>
#include <stdio.h>

bool load_leaves_processor(void) {
    unsigned running = 0;
    cpu_set_t ours;
    auto_file file = fopen("/proc/loadavg", "re");
    if (!file || fscanf(file, "%*s %*s %*s %u/", &running) != 1 || sched_getaffinity(0, sizeof ours, &ours))
        return true;
    const unsigned others = running > 0 ? running - 1 : 0;
    return others < (unsigned)CPU_COUNT(&ours);
}
