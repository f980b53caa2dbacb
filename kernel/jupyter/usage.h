/*
 * usage.h - usage_request: what the kernel and the machine use, as JupyterLab shows it.
 *
 * See: ipykernel, "usage_request"; proc(5).
 */
#ifndef PETRI_USAGE_H
#define PETRI_USAGE_H

#include "kernel/jupyter/request.h"

#include <sys/types.h>

/* The readings of the previous request; shares are over the time since then. */
struct usage {
    pid_t pid; /* of the process that Jupyter started; it has another one in this process's namespace */
    int64_t at_us;
    uint64_t kernel_ticks;
    uint64_t host_ticks; /* of all processors, busy and idle */
    uint64_t host_idle_ticks;
};

struct jupyter;

/* What all processes of this pid namespace hold, the kernel's own and the session's; shared memory counts once. Some
 * milliseconds. */
uint64_t usage_memory_bytes(void);

/* usage_request. Blocks for reading some files of /proc. */
void usage_request(struct usage *usage, struct jupyter *jupyter, const struct request *request);

#endif
