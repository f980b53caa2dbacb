/*
 * table.h - parts of tables for people, as text and HTML.
 */
#ifndef PETRI_TABLE_H
#define PETRI_TABLE_H

#include "protocol/bytes.h"

#include <stddef.h>
#include <stdint.h>

/* How wide a UTF-8 text is, in characters. */
size_t table_width(const char *text);

/* Adds a text, and spaces up to a width and two more. */
void table_add_padded(struct bytes *out, const char *text, size_t width);

/* Ends a line of text, without the spaces at its end. */
void table_end_line(struct bytes *out);

/* Adds a text to HTML. */
void table_add_escaped(struct bytes *out, const char *text);

/* "1 cell", "2 cells"; "1.2 MiB". Both return buf. */
const char *table_count(uint64_t n, const char *thing, char *buf, size_t size);
const char *table_size(uint64_t bytes, char *buf, size_t size);

#endif
