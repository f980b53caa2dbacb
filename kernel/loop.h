/*
 * loop.h - the kernel's one loop.
 *
 * Each turn waits for sockets, descriptors and the next deadline, and does a
 * bounded amount of work for each that is ready, control first.
 */
#ifndef PETRI_LOOP_H
#define PETRI_LOOP_H

#include "base/cleanup.h"

struct kernel;

/* Runs until kernel->stopping. 0 or -errno. */
int loop_run(struct kernel *kernel) MUST_CHECK;

#endif
