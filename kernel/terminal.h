/*
 * terminal.h - text of cells on the user's terminal.
 */
#ifndef PETRI_TERMINAL_H
#define PETRI_TERMINAL_H

#include <stddef.h>

/* Writes at most n bytes of text to standard output. What a cell has written may hold what a terminal obeys: of its
 * control characters only line ends and tabs stay, the others become question marks. */
void terminal_put(const char *text, size_t n);

#endif
