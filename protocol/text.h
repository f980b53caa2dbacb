/*
 * text.h - parses JSON text, as clients send it, into jansson's values.
 *
 * Clients send what RFC 8259 allows and jansson's own parser refuses: bytes
 * that are not UTF-8, lone surrogates in \u escapes, integers of any length.
 * This parser takes them, and is several times faster on long strings. What it
 * returns holds valid UTF-8 only. See: RFC 8259, section 8.
 *
 * It also has a cap on values, which are counted before memory is allocated for
 * them.
 */
#ifndef PETRI_TEXT_H
#define PETRI_TEXT_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* No max_depth goes beyond this: the parser and jansson's json_decref() recurse. */
#define TEXT_DEPTH_LIMIT 1000

/*
 * Parses one JSON value of any kind, with white space around it and nothing else.
 * Pieces that are not UTF-8 and lone surrogates become U+FFFD. NUL in strings is
 * kept (use json_string_length()); in keys, where jansson can't store it, it
 * becomes U+FFFD. Integers over 64 bits become reals, and numbers over the
 * greatest real become that. Of equal keys the last one counts. max_depth counts
 * arrays and objects inside each other: 0 allows neither.
 *
 * 0, -EBADMSG where it is not JSON or too deep, -ENOMEM. *ret is the caller's.
 * See: RFC 8259.
 */
int text_parse(const char *text, size_t bytes, size_t max_depth, json_t **ret) MUST_CHECK;

/*
 * The same with a cap on the memory of the value, which its text does not show:
 * "{}," is three bytes, and more than two hundred when it is parsed. A value
 * counts once, a member of an object once more, an array or an object
 * TEXT_CONTAINER_COUNT times. -E2BIG over max_values, before more is allocated.
 */
#define TEXT_CONTAINER_COUNT 4
int text_parse_capped(const char *text, size_t bytes, size_t max_depth, size_t max_values, json_t **ret) MUST_CHECK;

/* Bytes of memory that a value takes, by what jansson asks malloc() for. What it shares with other values counts, too.
 * 0 for NULL. */
uint64_t text_memory(json_t *json);

/* text_parse() for callers that don't need the reason: NULL where it is not JSON or there is no memory. */
json_t *text_parse_json(const char *text, size_t bytes, size_t max_depth) MUST_CHECK;

/* bytes as a JSON string; what is not UTF-8 becomes U+FFFD, NUL is kept. NULL on ENOMEM. */
json_t *text_to_json(const void *bytes, size_t n) MUST_CHECK;

/*
 * A JSON string made as printf() makes one; what is not UTF-8 becomes U+FFFD:
 * jansson's json_sprintf() and json_pack() give nothing at all where a precision
 * ("%.40s") or a full buffer has cut a character in two. NULL on ENOMEM.
 */
json_t *text_format(const char *format, ...) __attribute__((format(printf, 1, 2), warn_unused_result));

/* The text of a member, borrowed from the object; "" where there is none, or something else. */
const char *text_in(const json_t *object, const char *key);

/*
 * How many of n bytes end with a complete UTF-8 character. A stream can send
 * these, and keep the rest (3 bytes at most) until more bytes come. Bytes that
 * can't become a character count as complete.
 */
size_t text_whole_utf8(const void *bytes, size_t n);

/* The value of a hexadecimal digit; -1 for any other character. */
static inline int text_hex_value(char c) {
    const unsigned digit = (unsigned)c - '0', letter = ((unsigned)c | 0x20) - 'a';
    return digit < 10 ? (int)digit : letter < 6 ? (int)letter + 10 : -1;
}

#endif
