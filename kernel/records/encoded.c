/*
 * encoded.c - decodes a text in one pass, and collects the bytes that are text into pieces.
 *
 * A piece ends where a byte is not UTF-8, or is a control character that texts don't
 * have. Zeros stay, because a file may have two bytes for each character. A run of base64
 * or of digits goes on over line ends, as they are, or as repr() and JSON write them.
 *
 * Most of what is decoded is no text. So some bytes are decoded ahead, and a stretch of them is only
 * collected if there is room for a piece before the next two that no text has side by side.
 */

#include "encoded.h"

#include "protocol/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

const char encoded_mark[] = "\x01|\x01"; /* secrets_view.h leaves out the first and last, and no token has the other */

enum {
    NEAR_BYTES = 1024, /* before and behind an escaped byte in a line */
    AHEAD = 256,       /* bytes that are decoded before they are looked at */
    PHASES = 4,        /* characters of a group of base64, each of which a piece may begin with */
};

/* What one way to read the text has decoded. */
struct collector {
    struct encoded to;
    size_t least;               /* bytes of a piece */
    struct encoded_piece piece; /* which is being collected */
    size_t seen;                /* its bytes that are no control characters */
    unsigned expected;          /* bytes that its last character still needs */
    size_t n_ahead;
    unsigned char ahead[AHEAD];
    size_t starts[AHEAD], ends[AHEAD]; /* where they stand in the text */
};

struct decoder {
    const char *text;
    size_t n;
    struct collector phases[PHASES];
};

/*
 * What a byte is in UTF-8: the first one of a character, and how many follow it; one that
 * follows; one that no text has. See: RFC 3629.
 */
enum { FOLLOWS = 4, NO_TEXT, KINDS };
/* clang-format off */
static const unsigned char kinds[256] = {
    [0x01 ... 0x07] = NO_TEXT, [0x0b] = NO_TEXT, [0x0e ... 0x1a] = NO_TEXT, [0x1c ... 0x1f] = NO_TEXT,
    [0x7f] = NO_TEXT, [0x80 ... 0xbf] = FOLLOWS, [0xc0 ... 0xc1] = NO_TEXT, [0xc2 ... 0xdf] = 1,
    [0xe0 ... 0xef] = 2, [0xf0 ... 0xf4] = 3, [0xf5 ... 0xff] = NO_TEXT,
};
/* clang-format on */

/* Whether a piece ends between two bytes, whatever is before and behind them. */
static bool is_break(unsigned char left, unsigned char right) {
    enum { ANY = (1 << KINDS) - 1, NOTHING = 1 << NO_TEXT };
    static const unsigned char breaks[KINDS] = {
        1 << FOLLOWS | NOTHING, ANY & ~(1 << FOLLOWS), ANY & ~(1 << FOLLOWS), ANY & ~(1 << FOLLOWS), NOTHING, ANY,
    };
    return breaks[kinds[left]] >> kinds[right] & 1;
}

static bool has_begun(const struct collector *collector) {
    return collector->to.text.n > collector->piece.at;
}

/* Ends the piece, and forgets it if it is too short. */
static void end_piece(struct collector *collector) {
    struct encoded_piece *piece = &collector->piece;
    struct bytes *text = &collector->to.text;
    piece->bytes = text->n - piece->at;
    collector->expected = 0;
    if (piece->bytes == 0)
        return;
    if (collector->seen >= collector->least) {
        bytes_append_text(text, encoded_mark);
        bytes_append(&collector->to.pieces, piece, sizeof *piece);
    } else {
        text->n = piece->at;
    }
    *piece = (struct encoded_piece){.at = text->n};
    collector->seen = 0;
}

/* The first byte ahead, from one on, with which a piece may begin: there is room for it, or it may go on later. */
static size_t next_begin(const struct collector *collector, size_t i) {
    while (i + collector->least <= collector->n_ahead) {
        size_t right = i + collector->least - 1;
        while (right > i && !is_break(collector->ahead[right - 1], collector->ahead[right]))
            right--;
        if (right == i)
            break;
        i = right;
    }
    return i;
}

/* Collects what is ahead. */
static void take_ahead(struct collector *collector) {
    struct encoded_piece *piece = &collector->piece;
    for (size_t i = 0; i < collector->n_ahead;) {
        i = has_begun(collector) ? i : next_begin(collector, i);
        const unsigned char byte = collector->ahead[i];
        const unsigned kind = kinds[byte];
        if (collector->expected > 0 ? kind != FOLLOWS : kind >= FOLLOWS) {
            end_piece(collector);
            i += kind >= FOLLOWS;
            continue;
        }
        collector->expected = collector->expected > 0 ? collector->expected - 1 : kind;
        if (!has_begun(collector))
            piece->start = collector->starts[i];
        piece->end = collector->ends[i];
        collector->seen += byte >= ' ';
        bytes_append(&collector->to.text, &byte, 1);
        i++;
    }
    collector->n_ahead = 0;
}

/* Takes a byte that stands from start to end in the text. */
static inline void take_byte(struct collector *collector, unsigned char byte, size_t start, size_t end) {
    collector->ahead[collector->n_ahead] = byte;
    collector->starts[collector->n_ahead] = start;
    collector->ends[collector->n_ahead++] = end;
    if (collector->n_ahead == AHEAD)
        take_ahead(collector);
}

/* What was decoded up to end is no part of what comes; padding, which is part of it, ends at behind. */
static void end_run(struct collector *collector, size_t end, size_t behind) {
    if (has_begun(collector) || collector->n_ahead >= collector->least)
        take_ahead(collector);
    collector->n_ahead = 0;
    if (collector->piece.end == end)
        collector->piece.end = behind;
    end_piece(collector);
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

/*
 * A run of base64 at at. Each digit ends a byte in three of the four phases, and each byte is within two digits.
 * Returns the run's end.
 */
static size_t decode_base64(struct decoder *decoder, size_t at, bool whole_groups) {
    unsigned window = 0;
    size_t last = at; /* digit */
    for (size_t n = 0; at < decoder->n;) {
        const int value = base64_value(decoder->text[at]);
        if (value < 0) {
            const size_t behind = skip_in_base64(decoder, at);
            if (behind == at || behind == decoder->n || base64_value(decoder->text[behind]) < 0)
                break;
            at = behind;
            continue;
        }
        window = (window << 6 | (unsigned)value) & 0xfff;
        for (unsigned digits = 1; digits < PHASES; digits++) {
            const size_t phase = (n - digits) % PHASES;
            if (digits <= n && (phase == 0 || !whole_groups))
                take_byte(&decoder->phases[phase], (unsigned char)(window >> (6 - 2 * digits)), last, at + 1);
        }
        last = at++;
        n++;
    }
    const size_t end = at;
    while (at < decoder->n && decoder->text[at] == '=')
        at++;
    for (size_t i = 0; i < PHASES; i++)
        end_run(&decoder->phases[i], end, at);
    return at;
}

/* What may stand between two bytes: one sign or two, "0x". */
static size_t skip_between_hex(const struct decoder *decoder, size_t at) {
    const size_t most = at + 2;
    size_t behind = skip_line_end(decoder, at);
    for (; behind < most && behind < decoder->n; behind = skip_line_end(decoder, behind + 1)) {
        const char c = decoder->text[behind];
        if (c != ' ' && c != ':' && c != ',' && c != '-')
            break;
    }
    if (decoder->n - behind >= 2 && memcmp(decoder->text + behind, "0x", 2) == 0)
        behind += 2;
    return behind;
}

/* A run of pairs of digits at at, without its first skipped digits. Returns its end. */
static size_t decode_hex(struct decoder *decoder, size_t at, unsigned skipped) {
    struct collector *phase = &decoder->phases[skipped];
    size_t end = at + skipped;
    while (end + 2 <= decoder->n && text_hex_value(decoder->text[end]) >= 0 &&
           text_hex_value(decoder->text[end + 1]) >= 0) {
        const int byte = text_hex_value(decoder->text[end]) << 4 | text_hex_value(decoder->text[end + 1]);
        take_byte(phase, (unsigned char)byte, end, end + 2);
        end = skip_between_hex(decoder, end + 2);
    }
    end_run(phase, end, end);
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
        take_byte(decoder->phases, (unsigned char)decoder->text[at], at, at + 1);
        return at + 1;
    }
    const int byte = text_hex_value(decoder->text[at + 1]) << 4 | text_hex_value(decoder->text[at + 2]);
    take_byte(decoder->phases, (unsigned char)byte, at, at + 3);
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
            end_run(decoder->phases, at, at);
            at++;
        }
    }
    end_run(decoder->phases, at, at);
    return at + 1;
}

static void decode(struct decoder *decoder, enum encoded_way way) {
    const char *text = decoder->text;
    const size_t n = decoder->n;
    if (way == ENCODED_BASE64 || way == ENCODED_BASE64_WHOLE)
        for (size_t at = 0; at < n;)
            at = base64_value(text[at]) < 0 ? at + 1 : decode_base64(decoder, at, way == ENCODED_BASE64_WHOLE);
    for (unsigned skipped = 0; way == ENCODED_HEX && skipped < 2; skipped++)
        for (size_t at = 0; at < n;)
            at = text_hex_value(text[at]) < 0 ? at + 1 : decode_hex(decoder, at, skipped);
    if (way == ENCODED_QUOTED && (memchr(text, '%', n) || memchr(text, '=', n)))
        for (size_t at = 0; at < n;)
            at = decode_line(decoder, at);
}

void encoded_find(const char *text, size_t n, enum encoded_way way, size_t least, struct encoded *encoded) {
    struct decoder decoder = {.text = text, .n = n};
    for (size_t i = 0; i < PHASES; i++)
        decoder.phases[i].least = least;
    decode(&decoder, way);
    for (size_t i = 0; i < PHASES; i++) {
        struct encoded *found = &decoder.phases[i].to;
        struct encoded_piece *pieces = (struct encoded_piece *)found->pieces.data;
        for (size_t piece = 0; piece < encoded_n(found); piece++)
            pieces[piece].at += encoded->text.n;
        bytes_append(&encoded->text, found->text.data, found->text.n);
        bytes_append(&encoded->pieces, found->pieces.data, found->pieces.n);
        encoded->text.failed |= !bytes_ok(&found->text) || !bytes_ok(&found->pieces);
        encoded_fini(found);
    }
}

bool encoded_is_base64(const char *text, size_t n) {
    size_t found = 0;
    bool is_hex = true;
    for (size_t at = 0; at < n; at++) {
        const char c = text[at];
        if (c == '\n' || (c == '=' && n - at <= 4)) {
            found += c == '=';
            continue;
        }
        if (base64_value(c) < 0 || c == '-' || c == '_')
            return false;
        found++;
        is_hex = is_hex && text_hex_value(c) >= 0;
    }
    return found >= 8 && found % 4 == 0 && !is_hex;
}

void encoded_fini(struct encoded *encoded) {
    bytes_fini(&encoded->text);
    bytes_fini(&encoded->pieces);
}
