/*
 * encoded.c - decodes a text in one pass, a byte at a time, and collects the bytes that are text into pieces.
 *
 * A piece ends where a byte is not UTF-8, or is a control character that texts don't
 * have. Zeros stay, because a file may have two bytes for each character. A run of base64
 * or of digits goes on over line ends, as they are, or as repr() and JSON write them.
 */

#include "encoded.h"

#include "protocol/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

const char encoded_mark[] = "\x01|\x01"; /* secrets_view.h leaves out the first and last, and no token has the other */

enum { NEAR_BYTES = 1024 }; /* before and behind an escaped byte in a line */

struct decoder {
    const char *text;
    size_t n;
    struct encoded *to;
    size_t least;               /* bytes of a piece */
    struct encoded_piece piece; /* which is being collected */
    size_t seen;                /* its bytes that are no control characters */
    unsigned expected;          /* bytes that its last character still needs */
};

/* Ends the piece, and forgets it if it is too short. */
static void end_piece(struct decoder *decoder) {
    struct encoded_piece *piece = &decoder->piece;
    struct bytes *text = &decoder->to->text;
    piece->bytes = text->n - piece->at;
    if (piece->bytes == 0)
        return;
    if (decoder->seen >= decoder->least) {
        bytes_append_text(text, encoded_mark);
        bytes_append(&decoder->to->pieces, piece, sizeof *piece);
    } else {
        text->n = piece->at;
    }
    *piece = (struct encoded_piece){.at = text->n};
    decoder->seen = 0;
    decoder->expected = 0;
}

/* How many bytes follow the first one of a character; -1 where none of a text begins with it. */
static int followers(unsigned char byte) {
    static const uint32_t controls = 1 << '\0' | 1 << '\b' | 1 << '\t' | 1 << '\n' | 1 << '\f' | 1 << '\r' | 1 << 0x1b;
    if (byte < ' ')
        return controls >> byte & 1 ? 0 : -1;
    if (byte < 0x80)
        return byte == 0x7f ? -1 : 0;
    return byte < 0xc2 ? -1 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : byte < 0xf5 ? 3 : -1;
}

/* Takes a byte that stands from start to end in the text. */
static void take_byte(struct decoder *decoder, unsigned char byte, size_t start, size_t end) {
    struct encoded_piece *piece = &decoder->piece;
    const bool follows = (byte & 0xc0) == 0x80 && decoder->expected > 0;
    const int more = follows ? (int)decoder->expected - 1 : followers(byte);
    if (!follows && (decoder->expected > 0 || more < 0))
        end_piece(decoder);
    if (more < 0)
        return;
    decoder->expected = (unsigned)more;
    if (decoder->to->text.n == piece->at)
        piece->start = start;
    piece->end = end;
    decoder->seen += byte >= ' ';
    bytes_append(&decoder->to->text, &byte, 1);
}

/* The length of a line end, as it is or as repr() writes it, with which a text of so many bytes begins; 0 for none. */
static size_t line_end(const char *text, size_t left) {
    const char next = left > 1 ? text[1] : 0;
    if (text[0] == '\n')
        return 1;
    if (text[0] == '\r')
        return next == '\n' ? 2 : 0;
    if (text[0] != '\\')
        return 0;
    return next == '\n' || next == 'n' ? 2 : left >= 4 && memcmp(text, "\\r\\n", 4) == 0 ? 4 : 0;
}

/* Over a line end at at, with what indents the next line; else at. */
static size_t skip_line_end(const struct decoder *decoder, size_t at) {
    const size_t bytes = at < decoder->n ? line_end(decoder->text + at, decoder->n - at) : 0;
    if (bytes == 0)
        return at;
    at += bytes;
    while (at < decoder->n && (decoder->text[at] == ' ' || decoder->text[at] == '\t'))
        at++;
    return at;
}

/* One more than the value of a digit, in both alphabets of RFC 4648; 0 for what is none. */
/* clang-format off */
static const signed char base64_values[256] = {
    ['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
    ['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
    ['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
    ['+'] = 63, ['-'] = 63, ['/'] = 64, ['_'] = 64,
};
/* clang-format on */

static int base64_value(char c) {
    return base64_values[(unsigned char)c] - 1;
}

/* What may stand between two digits: a line end, or before "/" the backslash of JSON. */
static size_t skip_in_base64(const struct decoder *decoder, size_t at) {
    const size_t behind = skip_line_end(decoder, at);
    return behind == at && at + 1 < decoder->n && decoder->text[at] == '\\' && decoder->text[at + 1] == '/' ? at + 1
                                                                                                            : behind;
}

/* A run of base64 at at, without its first skipped digits. Returns its end. */
static size_t decode_base64(struct decoder *decoder, size_t at, unsigned skipped) {
    unsigned bits = 0, n_bits = 0;
    size_t start = at;
    while (at < decoder->n) {
        const int value = base64_value(decoder->text[at]);
        if (value < 0) {
            const size_t behind = skip_in_base64(decoder, at);
            if (behind == at || behind == decoder->n || base64_value(decoder->text[behind]) < 0)
                break;
            at = behind;
            continue;
        }
        at++;
        if (skipped > 0) {
            skipped--;
            start = at;
            continue;
        }
        bits = (bits << 6 | (unsigned)value) & 0xffff;
        n_bits += 6;
        if (n_bits >= 8) {
            n_bits -= 8;
            take_byte(decoder, (unsigned char)(bits >> n_bits), start, at);
            start = n_bits == 0 ? at : at - 1;
        }
    }
    for (; at < decoder->n && decoder->text[at] == '='; at++)
        decoder->piece.end += decoder->piece.end == at;
    return at;
}

/* What may stand between two bytes: one sign or two, "0x". */
static size_t skip_between_hex(const struct decoder *decoder, size_t at) {
    const size_t most = at + 2;
    size_t behind = skip_line_end(decoder, at);
    while (behind < most && behind < decoder->n && memchr(" :,-", decoder->text[behind], 4))
        behind = skip_line_end(decoder, behind + 1);
    if (decoder->n - behind >= 2 && memcmp(decoder->text + behind, "0x", 2) == 0)
        behind += 2;
    return behind;
}

/* As decode_base64(). */
static size_t decode_hex(struct decoder *decoder, size_t at, unsigned skipped) {
    size_t end = at + skipped;
    while (end + 2 <= decoder->n && text_hex_value(decoder->text[end]) >= 0 &&
           text_hex_value(decoder->text[end + 1]) >= 0) {
        const int byte = text_hex_value(decoder->text[end]) << 4 | text_hex_value(decoder->text[end + 1]);
        take_byte(decoder, (unsigned char)byte, end, end + 2);
        end = skip_between_hex(decoder, end + 2);
    }
    return end > at ? end : at + 1;
}

/*
 * Whether a byte is escaped at at: %41, =41. Quoted-printable escapes with capitals what
 * is not ASCII, "=" and blanks, or all bytes; else "a=10" in code were one, too.
 */
static bool is_escape(const struct decoder *decoder, size_t at) {
    const char *text = decoder->text + at;
    if (decoder->n - at < 3 || (text[0] != '%' && text[0] != '=') || text_hex_value(text[1]) < 0 ||
        text_hex_value(text[2]) < 0)
        return false;
    if (text[0] == '%')
        return true;
    static const char *const usual[] = {"=3D", "=20", "=09", "=0A", "=0D"};
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (memcmp(text, usual[i], 3) == 0)
            return true;
    const bool in_row = (decoder->n - at > 3 && text[3] == '=') || (at >= 3 && text[-3] == '=');
    return text[1] < 'a' && text[2] < 'a' && (text[1] >= '8' || in_row);
}

/* Where a line at at is joined with the next one: behind that; else at. */
static size_t skip_joint(const struct decoder *decoder, size_t at) {
    if (decoder->text[at] != '=')
        return at;
    if (decoder->n - at >= 2 && decoder->text[at + 1] == '\n')
        return at + 2;
    return decoder->n - at >= 3 && memcmp(decoder->text + at, "=\r\n", 3) == 0 ? at + 3 : at;
}

/* Takes what stands at at in a line, decoded. Returns where it ends. */
static size_t take_quoted(struct decoder *decoder, size_t at) {
    const size_t behind = skip_joint(decoder, at);
    if (behind > at)
        return behind;
    if (!is_escape(decoder, at)) {
        take_byte(decoder, (unsigned char)decoder->text[at], at, at + 1);
        return at + 1;
    }
    const int byte = text_hex_value(decoder->text[at + 1]) << 4 | text_hex_value(decoder->text[at + 2]);
    take_byte(decoder, (unsigned char)byte, at, at + 3);
    return at + 3;
}

/* A line, as far as escaped bytes are near. Returns where the next one begins. */
static size_t decode_line(struct decoder *decoder, size_t at) {
    size_t ahead = at, last = SIZE_MAX; /* how far it was looked for escaped bytes, and where the last one was */
    while (at < decoder->n && decoder->text[at] != '\n') {
        for (; ahead < decoder->n && ahead < at + NEAR_BYTES; ahead++)
            if ((decoder->text[ahead] == '%' || decoder->text[ahead] == '=') &&
                (is_escape(decoder, ahead) || skip_joint(decoder, ahead) > ahead))
                last = ahead;
        if (last != SIZE_MAX && at < last + NEAR_BYTES) {
            at = take_quoted(decoder, at);
        } else {
            end_piece(decoder);
            at++;
        }
    }
    return at + 1;
}

void encoded_find(const char *text, size_t n, enum encoded_way way, size_t least, struct encoded *encoded) {
    struct decoder decoder = {.text = text, .n = n, .to = encoded, .least = least, .piece.at = encoded->text.n};
    bool has_escapes = memchr(text, '%', n) || memchr(text, '=', n);
    for (size_t at = 0; at < n && (way != ENCODED_QUOTED || has_escapes);) {
        if (way < ENCODED_QUOTED && (way < ENCODED_HEX ? base64_value(text[at]) : text_hex_value(text[at])) < 0) {
            at++;
            continue;
        }
        at = way == ENCODED_QUOTED ? decode_line(&decoder, at)
             : way < ENCODED_HEX   ? decode_base64(&decoder, at, way - ENCODED_BASE64)
                                   : decode_hex(&decoder, at, way - ENCODED_HEX);
        end_piece(&decoder);
    }
}

void encoded_fini(struct encoded *encoded) {
    bytes_fini(&encoded->text);
    bytes_fini(&encoded->pieces);
}
