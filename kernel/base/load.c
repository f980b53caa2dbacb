/*
 * load.c - see load.h.
 *
 * The fourth field of loadavg is the number of tasks that want to run at this moment: the
 * averages before it are of minutes, and tell of what is over.
 */
#include "load.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <unistd.h>

bool load_is_below(const char *loadavg, unsigned processors) {
    unsigned running = 0; /* who reads it among them */
    return sscanf(loadavg, "%*s %*s %*s %u/", &running) != 1 || running <= processors;
}

bool load_leaves_processor(void) {
    char text[128] = "";
    const long processors = sysconf(_SC_NPROCESSORS_ONLN); /* of the machine, as the tasks are */
    auto_file file = fopen("/proc/loadavg", "re");
    return !file || !fgets(text, sizeof text, file) || processors < 1 || load_is_below(text, (unsigned)processors);
}
