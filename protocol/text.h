/*
 * text.h - JSON text as clients really send it, made fit for jansson.
 *
 * jansson refuses what JSON's grammar lets pass: bytes that are not UTF-8, lone
 * surrogates in \u escapes. See: jansson, "Conformance"; RFC 8259, section 8.
 */
#ifndef PETRI_TEXT_H
#define PETRI_TEXT_H

#include <jansson.h>
#include <stddef.h>

/*
 * Parses one JSON value of any kind. Bytes that are not UTF-8 and lone
 * surrogates become U+FFFD, NUL in strings is kept, integers over 64 bits
 * become reals, nesting over max_depth is refused. NULL where it is not JSON
 * or memory ran out. The result is the caller's.
 */
json_t *text_parse_json(const char *text, size_t bytes, size_t max_depth) __attribute__((warn_unused_result));

/* bytes as a JSON string; what is not UTF-8 becomes U+FFFD. NULL on ENOMEM. */
json_t *text_to_json(const void *bytes, size_t n) __attribute__((warn_unused_result));

/*
 * How many of n bytes end on a whole UTF-8 character: what a stream may send
 * on now, keeping the rest until more comes (at most 3 bytes are kept back).
 */
size_t text_whole_utf8(const void *bytes, size_t n);

#endif
