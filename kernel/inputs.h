/*
 * inputs.h - the files that a request brings, put into its cell before the code runs.
 */
#ifndef PETRI_INPUTS_H
#define PETRI_INPUTS_H

#include "kernel/cleanup.h"
#include "kernel/run.h"

/*
 * Puts the files of run->ask into run->cell, which has not started, and notes
 * them in run->inputs: [{"path", "bytes", "sha256"}]. 0, or -errno with one
 * sentence without a full stop in why.
 */
int inputs_put(struct run *run, char *why, size_t why_bytes) KERNEL_MUST_CHECK;

#endif
