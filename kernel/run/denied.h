/*
 * denied.h - system calls that the sandbox refused: answered at once, and counted for the report.
 */
#ifndef PETRI_DENIED_H
#define PETRI_DENIED_H

#include "kernel/base/poll_set.h"

struct runner;

/* Watches for refused calls, as long as there is an image. */
void denied_watch(struct runner *runner, struct poll_set *set);

#endif
