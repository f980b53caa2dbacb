/*
 * mime.h - the MIME type of a file, by its first bytes.
 *
 * petri does not use libmagic, which would interpret thousands of rules,
 * different ones on each machine, on files of hostile code, and in a process that
 * is not sandboxed.
 */
#ifndef PETRI_MIME_H
#define PETRI_MIME_H

#include <stdbool.h>
#include <stddef.h>

enum { MIME_HEAD_BYTES = 4096 }; /* as much as mime_of() can use */

/*
 * The MIME type of a file, by its first n bytes; whole: there are no more. The
 * end of the name only distinguishes kinds of text (.csv, .tsv, .md, .py); a name
 * never makes a file an image. An unknown type is application/octet-stream.
 * Static.
 */
const char *mime_of(const void *head, size_t n, bool whole, const char *name);

#endif
