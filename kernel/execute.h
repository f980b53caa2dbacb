/*
 * execute.h - execute_request: its semantics around the cell.
 *
 * See: Jupyter messaging, "Execute".
 */
#ifndef PETRI_EXECUTE_H
#define PETRI_EXECUTE_H

#include "kernel/request.h"

struct kernel;

extern const struct cell_kind execute_cell;

/*
 * stop_on_error: moves every execute_request that waits, and those that have
 * arrived but were not read yet, to the end of ret_taken; execute_abort()
 * answers them with "aborted".
 */
void execute_take_pending(struct kernel *kernel, struct request_queue *ret_taken);
void execute_abort(struct kernel *kernel, struct request_queue *requests);

#endif
