/*
 * execute.h - execute_request: its semantics around the cell.
 *
 * See: Jupyter messaging, "Execute".
 */
#ifndef PETRI_EXECUTE_H
#define PETRI_EXECUTE_H

#include "kernel/jupyter/request.h"

struct jupyter;

extern const struct cell_kind execute_cell;

/* Answers each request of a queue with "aborted": stop_on_error. */
void execute_abort(struct jupyter *jupyter, struct request_queue *requests);

#endif
