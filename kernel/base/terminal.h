/*
 * terminal.h - all that commands write to standard output and standard error.
 *
 * A terminal may obey what cells, records and names of files hold, or show it as
 * another text. So all of it is written through here: of the characters that are
 * not seen as they are (protocol/unseen.h), of controls and of what is not UTF-8,
 * a question mark is written for each; line ends and tabs stay. In JSON, where it
 * may stand only inside texts, such a character is written as \uXXXX, so that the
 * value is the same.
 *
 * Ours, because vis(3) of libbsd makes controls harmless, but it neither knows
 * characters that change the direction of text nor leaves all others as they are.
 */
#ifndef PETRI_TERMINAL_H
#define PETRI_TERMINAL_H

#include "protocol/bytes.h"

#include <jansson.h>
#include <stddef.h>

/* Appends n bytes of text as they can be shown; without_lines: in one line. */
void terminal_append(struct bytes *out, const char *text, size_t n, bool without_lines);

/* Writes text up to its NUL or n bytes, which may cut a character in two, to standard output. */
void terminal_put(const char *text, size_t n);

/* Writes the whole of a text in one line, without its end. */
void terminal_put_line(const char *text);

/* Writes to standard output as printf() does, the whole of it made safe. */
void terminal_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes "petri: ", what printf() would, and a line end to standard error, with one write(2); all in one line. */
void terminal_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Writes a value to standard output, whole. 0; or EXIT_FAILURE after a sentence on standard error, also for NULL. */
int terminal_put_json(const json_t *json);

#endif
