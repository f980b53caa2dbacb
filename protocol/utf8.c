/*
 * utf8.c - decodes with a table of lead bytes, and finds ASCII eight bytes at a time.
 *
 * The table has each lead byte's length and the range of its second byte; that
 * also excludes overlong forms, surrogates and code points over U+10FFFF. below()
 * may be wrong about bytes after its first hit, because of a borrow; it is only
 * used to find whether there is a hit.
 *
 * See: The Unicode Standard, table 3-7; "Bit Twiddling Hacks", "Determine if a word
 * has a byte less than n".
 */

#include "utf8.h"

#include <stdbool.h>
#include <string.h>

/* Of a lead byte: its character's length and the range of the second byte. */
struct lead {
    unsigned char bytes;
    unsigned char second_min, second_max;
};

/* By lead byte, from 0xC0 on; no character begins with the others. See: The Unicode Standard, table 3-7. */
static const struct lead leads[0x40] = {
    [0xC2 - 0xC0 ... 0xDF - 0xC0] = {2, 0x80, 0xBF}, [0xE0 - 0xC0] = {3, 0xA0, 0xBF},
    [0xE1 - 0xC0 ... 0xEC - 0xC0] = {3, 0x80, 0xBF}, [0xED - 0xC0] = {3, 0x80, 0x9F},
    [0xEE - 0xC0 ... 0xEF - 0xC0] = {3, 0x80, 0xBF}, [0xF0 - 0xC0] = {4, 0x90, 0xBF},
    [0xF1 - 0xC0 ... 0xF3 - 0xC0] = {4, 0x80, 0xBF}, [0xF4 - 0xC0] = {4, 0x80, 0x8F},
};

enum utf8_piece utf8_next(const unsigned char *text, size_t n, size_t *ret_bytes) {
    *ret_bytes = 1;
    if (text[0] < 0x80)
        return UTF8_WHOLE;
    if (text[0] < 0xC0 || leads[text[0] - 0xC0].bytes == 0)
        return UTF8_BAD;
    const struct lead *lead = &leads[text[0] - 0xC0];
    for (size_t i = 1; i < lead->bytes; i++) {
        *ret_bytes = i;
        if (i == n)
            return UTF8_CUT;
        unsigned char min = i == 1 ? lead->second_min : 0x80;
        unsigned char max = i == 1 ? lead->second_max : 0xBF;
        if (text[i] < min || text[i] > max)
            return UTF8_BAD;
    }
    *ret_bytes = lead->bytes;
    return UTF8_WHOLE;
}

/* Eight bytes at once, because most text is ASCII and can have megabytes. */
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
    while (n - i >= 8 && is_plain8(load8(text + i)))
        i += 8;
    while (i < n && is_plain(text[i]))
        i++;
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
        if (utf8_next(text + i, n - i, &bytes) != UTF8_WHOLE)
            break;
        i += bytes;
    }
    return i;
}

size_t utf8_multibyte(const unsigned char *text, size_t n) {
    size_t i = 0;
    size_t bytes;
    while (i < n && text[i] >= 0x80 && utf8_next(text + i, n - i, &bytes) == UTF8_WHOLE)
        i += bytes;
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
