/*
 * execute.h - execute_request: its semantics around the cell.
 *
 * See: Jupyter messaging, "Execute".
 */
#ifndef PETRI_EXECUTE_H
#define PETRI_EXECUTE_H

struct cell_kind;

extern const struct cell_kind execute_cell;

#endif
