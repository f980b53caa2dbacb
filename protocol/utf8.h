/*
 * utf8.h - UTF-8 a character at a time, and the places where it breaks.
 *
 * Broken text is replaced the way Python's and the web's decoders do it: one
 * U+FFFD for each longest piece that could still have become a character.
 * Ours, because neither iconv(3) nor mbrtowc(3) says how long a broken piece
 * is, and mbrtowc(3) goes by the locale.
 *
 * See: The Unicode Standard, 3.9, "U+FFFD Substitution of Maximal Subparts".
 */
#ifndef PETRI_UTF8_H
#define PETRI_UTF8_H

#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD */
#define UTF8_REPLACEMENT_CODE 0xFFFDu

enum utf8_piece {
    UTF8_WHOLE, /* a character */
    UTF8_BAD,   /* a piece to replace by one U+FFFD */
    UTF8_CUT,   /* the beginning of a character, and the text ends */
};

/* What the first of n > 0 bytes begin with, and how many bytes that is. */
enum utf8_piece utf8_next(const unsigned char *text, size_t n, size_t *ret_bytes);

/* How many of n bytes come before the first that is not part of a whole character: n for valid text. */
size_t utf8_valid(const unsigned char *text, size_t n);

/* How many of n bytes are whole characters beyond ASCII, up to the first that is not. */
size_t utf8_multibyte(const unsigned char *text, size_t n);

/* Writes code, which is no surrogate and at most U+10FFFF, into out; returns its 1 to 4 bytes. */
size_t utf8_encode(uint32_t code, char out[4]);

/* How many of n bytes are ASCII that a JSON string holds as it is: no controls, quotes or backslashes. */
size_t utf8_plain(const unsigned char *text, size_t n);

#endif
