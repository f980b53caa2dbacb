/*
 * missed.h - the cells that have a number of the session's, and that its image has not run.
 *
 * In[3] is the cell that front ends show as [3]. IPython counts what it runs, so its own count would be
 * behind after a cell that was rolled back, refused or given from the cache, and after a fresh run. So each frame to a
 * worker has the number of its run, and the cells that the history of inputs in its image lacks.
 *
 * A list is an array of [number, code] by their numbers, or NULL for an empty one. States share lists (struct
 * timeline_state), so these functions change none: they put another one in its place, and give the reference of
 * the old one back. Where there is no memory cells are left out; then their inputs are empty.
 *
 * See: docs/worker-wire.md, "missed".
 */
#ifndef PETRI_MISSED_H
#define PETRI_MISSED_H

#include <jansson.h>

enum { MISSED_MAX = 1000, MISSED_BYTES = 1 << 20 };

/* Adds a cell whose number is greater than all others; code is borrowed. Of the newest MISSED_MAX cells those stay
 * whose code together has MISSED_BYTES. */
void missed_add(json_t **missed, int number, json_t *code);

/* Takes out a cell that has run or has no number any more; where there is none with this number, nothing. */
void missed_remove(json_t **missed, int number);

/* Takes out all cells up to a number: an image that was told of them is the session's. */
void missed_remove_until(json_t **missed, int number);

#endif
