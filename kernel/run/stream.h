/*
 * stream.h - text under a run's cell: what the cell writes, and what petri adds to it.
 */
#ifndef PETRI_STREAM_H
#define PETRI_STREAM_H

#include <stddef.h>

struct run;

/* The sink of a run's outputs (outputs_sink; arg is the struct run): publishes the text, and keeps it for the record.
 */
void stream_text(void *arg, const char *name, const char *data, size_t bytes);

/* Adds a line of petri's to the run's standard error; nothing where it is empty. */
void stream_tell(struct run *run, const char *line, size_t bytes);

#endif
