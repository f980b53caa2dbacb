/*
 * encoded.h - finds what stands encoded in a text: in base64, in hexadecimal digits, with percent signs or in
 * quoted-printable.
 *
 * Nobody says where such a piece begins, so base64 is decoded from each of four characters
 * on and hexadecimal digits from each of two, and what does not come out as text is left
 * out: of a picture little remains, and little of words that only look like base64.
 *
 * See: RFC 4648, RFC 2045 (6.7, 6.8), RFC 3986 (2.1).
 */
#ifndef PETRI_ENCODED_H
#define PETRI_ENCODED_H

#include "base/cleanup.h"
#include "protocol/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* A way to decode a text. */
enum encoded_way {
    ENCODED_BASE64, /* groups of four characters, from each of a run's first four on */
    ENCODED_HEX,    /* pairs of digits, from each of a run's first two on, with or without what stands between bytes: a
                       blank, a colon, 0x */
    ENCODED_QUOTED, /* lines with %41 or =41 in them; "=" at a line's end joins it with the next one */
    ENCODED_WAYS,
    ENCODED_BASE64_WHOLE = ENCODED_WAYS, /* from a run's first character on alone */
};

struct encoded_piece {
    size_t start, end; /* in the text that was decoded */
    size_t at, bytes;  /* of what it says, in struct encoded's */
};

struct encoded {
    struct bytes text;   /* of all pieces, each with encoded_mark behind it, which stands in none */
    struct bytes pieces; /* struct encoded_piece */
};

extern const char encoded_mark[];

/*
 * Appends the pieces that come out as text of least bytes, which is no less than one, or more. What is appended is the
 * caller's (encoded_fini()); whether there was memory says bytes_ok() of both.
 */
void encoded_find(const char *text, size_t n, enum encoded_way way, size_t least, struct encoded *encoded);
void encoded_fini(struct encoded *encoded);

/* Whether a text is base64 and nothing else, as a file's content is, which may be in lines; hexadecimal digits are
 * something else. */
bool encoded_is_base64(const char *text, size_t n);

static inline size_t encoded_n(const struct encoded *encoded) {
    return encoded->pieces.n / sizeof(struct encoded_piece);
}

static inline const struct encoded_piece *encoded_pieces(const struct encoded *encoded) {
    return (const struct encoded_piece *)encoded->pieces.data;
}

#define auto_encoded __attribute__((cleanup(encoded_fini))) struct encoded

#endif
