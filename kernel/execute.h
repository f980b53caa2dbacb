/*
 * execute.h - execute_request: its semantics around the cell.
 *
 * See: Jupyter messaging, "Execute".
 */
#ifndef PETRI_EXECUTE_H
#define PETRI_EXECUTE_H

struct kernel;

extern const struct cell_kind execute_cell;

/* stop_on_error: answers every execute_request that waits, and those that have already arrived, with "aborted". */
void execute_abort_pending(struct kernel *kernel);

#endif
