/*
 * machine.h - the memory of this machine, or of the container that petri runs in.
 *
 * See: proc_meminfo(5); memory.max and memory.current in cgroup-v2.rst; hierarchical_memory_limit in
 * cgroup-v1/memory.rst.
 */
#ifndef PETRI_MACHINE_H
#define PETRI_MACHINE_H

#include <stdint.h>

/* Bytes; INT64_MAX where it can't be read. */
struct machine_memory {
    int64_t total;     /* the minimum of the machine's memory and the limits of control groups */
    int64_t available; /* not in use now */
};

/* Reads it. root: the folder that has proc/ and sys/; "" for this machine's. */
struct machine_memory machine_memory(const char *root);

#endif
