/*
 * comm.h - a comm message of a front end, which runs as a cell.
 *
 * It has the limits and the task that its metadata.petri asks for; its files are
 * copied out; its report is stored in its record (account.h); and it is
 * committed.
 *
 * See: Jupyter messaging, "Custom messages".
 */
#ifndef PETRI_COMM_H
#define PETRI_COMM_H

extern const struct cell_kind comm_cell;

#endif
