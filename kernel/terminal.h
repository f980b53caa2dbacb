/*
 * terminal.h - what commands write to standard output: text of cells, and JSON.
 */
#ifndef PETRI_TERMINAL_H
#define PETRI_TERMINAL_H

#include <jansson.h>
#include <stddef.h>

/* Writes at most n bytes of text to standard output. What a cell has written may hold what a terminal obeys: of its
 * control characters only line ends and tabs stay, the others become question marks. */
void terminal_put(const char *text, size_t n);

/* Writes a value to standard output, whole. 0; or EXIT_FAILURE after a sentence on standard error, also for NULL. */
int terminal_put_json(const json_t *json);

#endif
