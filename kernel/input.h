/*
 * input.h - input() and getpass(): a question to the client whose cell runs.
 *
 * See: Jupyter messaging, "Messages on the stdin (ROUTER/DEALER) channel".
 */
#ifndef PETRI_INPUT_H
#define PETRI_INPUT_H

#include <jansson.h>

struct kernel;

/* The running cell asks; the wall clock stands still until the answer comes. frame is borrowed. */
void input_ask(struct kernel *kernel, const json_t *frame);

/* The question is off, as the cell was interrupted: the wall clock goes on, and an answer comes too late. */
void input_forget(struct kernel *kernel);

/* A poll_handler for the stdin channel. */
void input_serve(struct kernel *kernel, void *arg, short events);

#endif
