/*
 * execute.h - execute_request: what happens before and after its cell.
 *
 * See: Jupyter messaging, "Execute".
 */
#ifndef PETRI_EXECUTE_H
#define PETRI_EXECUTE_H

struct cell_kind;

extern const struct cell_kind execute_cell;

#endif
