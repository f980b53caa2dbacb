/*
 * json_write.h - jansson's values to compact JSON text, fast.
 *
 * json_dumps() looks at a string a character at a time; notebooks send strings
 * of megabytes. What is written here is valid UTF-8 whatever the value holds.
 */
#ifndef PETRI_JSON_WRITE_H
#define PETRI_JSON_WRITE_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stddef.h>

struct bytes;

/* Appends n bytes as a JSON string with its quotes; what is not UTF-8 becomes U+FFFD. */
void json_write_string(struct bytes *out, const void *text, size_t n);

/*
 * Appends value, keys in the order they were set. 0, or -EINVAL for nesting
 * over TEXT_DEPTH_LIMIT. Whether memory sufficed: bytes_ok(out).
 */
int json_write(struct bytes *out, const json_t *value) MUST_CHECK;

#endif
