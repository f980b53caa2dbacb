/*
 * json_write.h - writes jansson's values as compact JSON text, fast.
 *
 * json_dumps() handles strings character by character, but notebooks send strings
 * of megabytes. The output here is valid UTF-8 for every value.
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
 * Appends value, keys in the order they were set. 0, or -EINVAL for nesting over
 * TEXT_DEPTH_LIMIT. bytes_ok(out) says whether there was enough memory.
 */
int json_write(struct bytes *out, const json_t *value) MUST_CHECK;

#endif
