/*
 * terminal.h - writes the output of commands to standard output and standard error, safe for a terminal.
 *
 * Text from cells, records and file names may have escape sequences that a
 * terminal executes, or characters that make it look different. So all of it is
 * written with these functions: they write a question mark for each unseen
 * character (protocol/unseen.h), control character and byte that is not UTF-8;
 * line ends and tabs are kept. In JSON such a character can only be in a string,
 * and is written as \uXXXX, so that the value is the same.
 *
 * vis(3) of libbsd makes control characters harmless, but does not handle
 * characters that reverse text, and changes other characters.
 */
#ifndef PETRI_TERMINAL_H
#define PETRI_TERMINAL_H

#include "protocol/bytes.h"

#include <jansson.h>
#include <stddef.h>

/* Appends n bytes of text, made safe; without_lines: as one line. */
void terminal_append(struct bytes *out, const char *text, size_t n, bool without_lines);

/* Writes text, up to its NUL or n bytes, to standard output; n may split a character. */
void terminal_put(const char *text, size_t n);

/* Writes a text as one line, without a newline. */
void terminal_put_line(const char *text);

/* printf(3), with all of the output made safe. */
void terminal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes "petri: ", the output of printf(3) as one line, and a newline to standard error, with one write(2). */
void terminal_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a JSON value to standard output. 0; or EXIT_FAILURE, also for NULL, after a message on standard error. */
int terminal_put_json(const json_t *json);

#endif
