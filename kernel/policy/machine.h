/*
 * machine.h - the memory that this machine has to give, or the container that petri runs in.
 *
 * See: proc_meminfo(5); memory.max and memory.current in cgroup-v2.rst; hierarchical_memory_limit in
 * cgroup-v1/memory.rst.
 */
#ifndef PETRI_MACHINE_H
#define PETRI_MACHINE_H

#include <stdint.h>

/* Bytes; INT64_MAX of what can't be read. */
struct machine_memory {
    int64_t total;     /* the least of what the machine has and what control groups allow */
    int64_t available; /* that is free now */
};

/* Reads it below a folder that has proc/ and sys/: "" is the machine's own. */
struct machine_memory machine_memory(const char *root);

#endif
