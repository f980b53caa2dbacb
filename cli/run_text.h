/*
 * run_text.h - a run as a person reads it: what the code put out, and one line about the run.
 */
#ifndef PETRI_RUN_TEXT_H
#define PETRI_RUN_TEXT_H

#include <jansson.h>

/*
 * Writes a report of client_run(): the code's standard output, its displays as
 * text and its value to standard output; its standard error, its error, and what
 * petri says of the run to standard error. To a terminal only what is safe for it.
 * 0, or -EIO where standard output can't be written.
 */
int run_text_put(const json_t *report);

#endif
