/*
 * where.h - where the code of the running cell is: its Python stack, which the worker writes to the trace pipe.
 *
 * It writes it when it is asked to by a signal, and when it crashes. Code of the
 * cell can write to the pipe, too, at any time: so a stack is only shown to
 * people, and decides nothing. It is bounded, and no call waits.
 *
 * See: faulthandler in Python's documentation.
 */
#ifndef PETRI_WHERE_H
#define PETRI_WHERE_H

#include "kernel/run/run.h"

/* Discards what is in the pipe: before a cell begins, and before its stack is asked for and waited for. */
void where_forget(struct run *run);

/* Asks the running cell for its stack. */
void where_ask(const struct run *run);

/* Adds what is in the pipe to the run's stack. Whether there was something. */
bool where_read(struct run *run);

/* Takes the last stack in the pipe for the run's, unless it is not all there and the run has one. */
void where_renew(struct run *run);

#endif
