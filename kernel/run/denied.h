/*
 * denied.h - the system calls that a cell was refused: answered at once, counted for the report.
 */
#ifndef PETRI_DENIED_H
#define PETRI_DENIED_H

#include "kernel/base/poll_set.h"

struct runner;

/* A refused call waits for its answer: watched as long as there is an image. */
void denied_watch(struct runner *runner, struct poll_set *set);

#endif
