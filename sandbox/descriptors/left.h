/*
 * left.h - open files that a kept image gives up: what keeping them would cost others.
 *
 * Their numbers stay taken, by something that nothing can be done with: what is made in a cell on the way gets the
 * lowest free number, which must not be one that is still to be restored. See: dup(2), dup3() of a number to itself.
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_LEFT_H
#define PETRI_SANDBOX_DESCRIPTORS_LEFT_H

#include "sandbox/inject/inject.h"

#include <stddef.h>

struct descriptors;

/* Has a keeper give up the open file of the first-th row, and its other numbers. 0, -EUCLEAN or -errno. */
int left_open_file(const struct descriptors *list, size_t first, const struct inject_task *keeper) MUST_CHECK;

#endif
