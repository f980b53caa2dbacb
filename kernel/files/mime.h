/*
 * mime.h - what a file is, by how it begins.
 *
 * Ours, because libmagic would interpret thousands of rules, others on each
 * machine, over files that hostile code has made, in the process that is not
 * sandboxed.
 */
#ifndef PETRI_MIME_H
#define PETRI_MIME_H

#include <stdbool.h>
#include <stddef.h>

enum { MIME_HEAD_BYTES = 4096 }; /* as much as mime_of() can use */

/*
 * The MIME type of a file, by its first n bytes; whole: there are no more.
 * Text is refined by the end of its name (.csv, .tsv, .md, .py), and by
 * nothing else of it: what is a picture by its name only is none. What is not
 * known is application/octet-stream. Static.
 */
const char *mime_of(const void *head, size_t n, bool whole, const char *name);

#endif
