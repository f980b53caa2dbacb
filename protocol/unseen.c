/* unseen.c - a sorted table of unseen characters, and the rules about their neighbours. */

#include "unseen.h"

#include "utf8.h"

#include <stdbool.h>

/*
 * Sorted; characters between two rows are seen. It has all code points that
 * Unicode calls Default_Ignorable (which never changes, so also unassigned ones),
 * line and paragraph separators, private use, and noncharacters. It has no list
 * of assigned characters, which grows each year and hides nothing.
 * See: The Unicode Standard 15.1, DerivedCoreProperties.txt; UAX #9.
 */
static const struct {
    uint32_t first, last;
    enum unseen kind;
} ranges[] = {
    {0x0000, 0x001f, UNSEEN_CONTROL},   {0x007f, 0x009f, UNSEEN_CONTROL},
    {0x00ad, 0x00ad, UNSEEN_BLANK},   /* soft hyphen */
    {0x034f, 0x034f, UNSEEN_VARIANT}, /* combining grapheme joiner */
    {0x061c, 0x061c, UNSEEN_CONTROL}, /* Arabic letter mark */
    {0x115f, 0x1160, UNSEEN_BLANK},   /* Hangul fillers */
    {0x17b4, 0x17b5, UNSEEN_BLANK},   /* Khmer inherent vowels */
    {0x180b, 0x180d, UNSEEN_VARIANT},   {0x180e, 0x180e, UNSEEN_BLANK},
    {0x180f, 0x180f, UNSEEN_VARIANT},   {0x200b, 0x200b, UNSEEN_BLANK}, /* zero width space */
    {0x200c, 0x200d, UNSEEN_JOINER},    {0x200e, 0x200f, UNSEEN_CONTROL},
    {0x2028, 0x202e, UNSEEN_CONTROL},                                   /* line, paragraph, embeddings and overrides */
    {0x2060, 0x2065, UNSEEN_BLANK},                                     /* word joiner, invisible operators */
    {0x2066, 0x2069, UNSEEN_CONTROL},                                   /* isolates */
    {0x206a, 0x206f, UNSEEN_BLANK},     {0x2800, 0x2800, UNSEEN_BLANK}, /* blank of Braille */
    {0x3164, 0x3164, UNSEEN_BLANK},                                     /* Hangul filler */
    {0xe000, 0xf8ff, UNSEEN_BLANK},                                     /* private use */
    {0xfdd0, 0xfdef, UNSEEN_BLANK},     {0xfe00, 0xfe0f, UNSEEN_VARIANT},
    {0xfeff, 0xfeff, UNSEEN_BLANK},                                       /* byte order mark */
    {0xffa0, 0xffa0, UNSEEN_BLANK},     {0xfff0, 0xfffb, UNSEEN_BLANK},   /* interlinear annotation */
    {0xfffe, 0xffff, UNSEEN_BLANK},     {0x1bca0, 0x1bca3, UNSEEN_BLANK}, /* shorthand controls */
    {0x1d173, 0x1d17a, UNSEEN_BLANK},                                     /* musical controls */
    {0xe0000, 0xe00ff, UNSEEN_BLANK},                                     /* tags */
    {0xe0100, 0xe01ef, UNSEEN_VARIANT}, {0xe01f0, 0xe0fff, UNSEEN_BLANK},
    {0xf0000, 0x10ffff, UNSEEN_BLANK}, /* private use */
};

enum unseen unseen_kind(uint32_t code) {
    if (code >= 0x10000 && (code & 0xfffe) == 0xfffe)
        return UNSEEN_BLANK; /* the last two of a plane */
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && ranges[i].first <= code; i++)
        if (code <= ranges[i].last)
            return ranges[i].kind;
    return UNSEEN_NOT;
}

uint32_t unseen_decode(const unsigned char *text, size_t n, size_t *ret_bytes) {
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    if (n == 0 || utf8_next(text, n, ret_bytes) != UTF8_WHOLE) {
        *ret_bytes = 1;
        return n == 0 ? 0 : UTF8_REPLACEMENT_CODE;
    }
    uint32_t code = text[0] & lead_bits[*ret_bytes];
    for (size_t i = 1; i < *ret_bytes; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

enum unseen unseen_look(const unsigned char *text, size_t n, uint32_t before, size_t *ret_bytes) {
    size_t next_bytes;
    uint32_t code = unseen_decode(text, n, ret_bytes);
    enum unseen kind = unseen_kind(code), kind_before = unseen_kind(before);
    bool fits =
        before >= 0x80 && (kind_before == UNSEEN_NOT || (kind == UNSEEN_JOINER && kind_before == UNSEEN_VARIANT));
    if (kind == UNSEEN_JOINER) {
        uint32_t next = unseen_decode(text + *ret_bytes, n - *ret_bytes, &next_bytes);
        fits = fits && next >= 0x80 && unseen_kind(next) == UNSEEN_NOT;
    }
    return kind != UNSEEN_JOINER && kind != UNSEEN_VARIANT ? kind : fits ? UNSEEN_NOT : UNSEEN_BLANK;
}
