#include "utf8.h"

#include <stdbool.h>
#include <string.h>

/* What may follow a lead byte: its character's length and the range of the second byte. */
struct lead {
    unsigned char first, last;
    unsigned char bytes;
    unsigned char second_min, second_max;
};

/* See: The Unicode Standard, table 3-7, "Well-Formed UTF-8 Byte Sequences". */
static const struct lead leads[] = {
    {0xC2, 0xDF, 2, 0x80, 0xBF}, {0xE0, 0xE0, 3, 0xA0, 0xBF}, {0xE1, 0xEC, 3, 0x80, 0xBF}, {0xED, 0xED, 3, 0x80, 0x9F},
    {0xEE, 0xEF, 3, 0x80, 0xBF}, {0xF0, 0xF0, 4, 0x90, 0xBF}, {0xF1, 0xF3, 4, 0x80, 0xBF}, {0xF4, 0xF4, 4, 0x80, 0x8F},
};

static const struct lead *find_lead(unsigned char byte) {
    for (size_t i = 0; i < sizeof leads / sizeof leads[0]; i++) {
        if (byte >= leads[i].first && byte <= leads[i].last) {
            return &leads[i];
        }
    }
    return NULL;
}

enum utf8_piece utf8_next(const unsigned char *text, size_t n, size_t *ret_bytes) {
    *ret_bytes = 1;
    if (text[0] < 0x80) {
        return UTF8_WHOLE;
    }
    const struct lead *lead = find_lead(text[0]);
    if (lead == NULL) {
        return UTF8_BAD;
    }
    for (size_t i = 1; i < lead->bytes; i++) {
        *ret_bytes = i;
        if (i == n) {
            return UTF8_CUT;
        }
        unsigned char min = i == 1 ? lead->second_min : 0x80;
        unsigned char max = i == 1 ? lead->second_max : 0xBF;
        if (text[i] < min || text[i] > max) {
            return UTF8_BAD;
        }
    }
    *ret_bytes = lead->bytes;
    return UTF8_WHOLE;
}

/* Eight bytes at once: most text is ASCII, and it comes in megabytes. */
static uint64_t load8(const unsigned char *text) {
    uint64_t word;
    memcpy(&word, text, sizeof word);
    return word;
}

#define EACH_BYTE(byte) (0x0101010101010101ull * (byte))

/* The top bit of each byte of word that is below limit, for bytes and limits under 0x80; exact up to the first hit. */
static uint64_t below(uint64_t word, uint64_t limit) {
    return (word - EACH_BYTE(limit)) & ~word & EACH_BYTE(0x80);
}

static bool is_plain8(uint64_t word) {
    uint64_t quotes = below(word ^ EACH_BYTE('"'), 1) | below(word ^ EACH_BYTE('\\'), 1);
    return (quotes | below(word, 0x20) | (word & EACH_BYTE(0x80))) == 0;
}

static bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
}

size_t utf8_plain(const unsigned char *text, size_t n) {
    size_t i = 0;
    while (n - i >= 8 && is_plain8(load8(text + i))) {
        i += 8;
    }
    while (i < n && is_plain(text[i])) {
        i++;
    }
    return i;
}

size_t utf8_valid(const unsigned char *text, size_t n) {
    size_t i = 0;
    while (i < n) {
        if (n - i >= 8 && (load8(text + i) & EACH_BYTE(0x80)) == 0) {
            i += 8;
            continue;
        }
        size_t bytes;
        if (utf8_next(text + i, n - i, &bytes) != UTF8_WHOLE) {
            break;
        }
        i += bytes;
    }
    return i;
}

size_t utf8_encode(uint32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}
