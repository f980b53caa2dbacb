/*
 * utf8.h - decodes UTF-8 character by character, and finds invalid pieces.
 *
 * Invalid text is replaced as in Python and on the web: one U+FFFD for each
 * longest piece that could have become a character. Neither iconv(3) nor
 * mbrtowc(3) says how long an invalid piece is, and mbrtowc(3) depends on the
 * locale.
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

/* The kind of the piece at the beginning of n > 0 bytes, and its length. */
enum utf8_piece utf8_next(const unsigned char *text, size_t n, size_t *ret_bytes);

/* The length of the valid beginning of n bytes: n for valid text. */
size_t utf8_valid(const unsigned char *text, size_t n);

/* The length of the whole characters beyond ASCII at the beginning of n bytes. */
size_t utf8_multibyte(const unsigned char *text, size_t n);

/* Writes code, which is no surrogate and at most U+10FFFF, into out; returns its 1 to 4 bytes. */
size_t utf8_encode(uint32_t code, char out[4]);

/*
 * The length of the ASCII at the beginning of n bytes that needs no escape in
 * JSON: no controls, quotes or backslashes.
 */
size_t utf8_plain(const unsigned char *text, size_t n);

#endif
