/*
 * comm.h - a message of a front end's widget, which runs as a cell.
 *
 * It is a cell in every respect: with the limits and the task that its
 * metadata.petri asks for, its files copied out, and a record, where its report
 * is (account.h). It commits.
 *
 * See: Jupyter messaging, "Custom messages".
 */
#ifndef PETRI_COMM_H
#define PETRI_COMM_H

extern const struct cell_kind comm_cell;

#endif
