#include "filename.h"

#include "protocol/utf8.h"

#include <stdint.h>
#include <string.h>

/* Characters that a listing doesn't show as they are. */
enum kind {
    SEEN,
    CONTROL, /* a terminal might obey it, or it breaks a line, or reorders the text that a person reads */
    UNSEEN,  /* nothing is drawn, or what each program likes */
    JOINER,  /* joins letters, or keeps them apart, as Persian and emoji are written */
    VARIANT, /* the shape of the character before it */
};

/*
 * In order; what is between two rows is seen. All that Unicode calls
 * Default_Ignorable, for ever and so also what is not assigned yet; line and
 * paragraph separators; private use, and what will never be a character. No
 * list of what is assigned: that grows each year and hides nothing.
 * See: The Unicode Standard 15.1, DerivedCoreProperties.txt; UAX #9.
 */
static const struct {
    uint32_t first, last;
    enum kind kind;
} ranges[] = {
    {0x0000, 0x001f, CONTROL},   {0x007f, 0x009f, CONTROL},
    {0x00ad, 0x00ad, UNSEEN},  /* soft hyphen */
    {0x034f, 0x034f, VARIANT}, /* combining grapheme joiner */
    {0x061c, 0x061c, CONTROL}, /* Arabic letter mark */
    {0x115f, 0x1160, UNSEEN},  /* Hangul fillers */
    {0x17b4, 0x17b5, UNSEEN},  /* Khmer inherent vowels */
    {0x180b, 0x180d, VARIANT},   {0x180e, 0x180e, UNSEEN},
    {0x180f, 0x180f, VARIANT},   {0x200b, 0x200b, UNSEEN}, /* zero width space */
    {0x200c, 0x200d, JOINER},    {0x200e, 0x200f, CONTROL},
    {0x2028, 0x202e, CONTROL},                             /* line, paragraph, embeddings and overrides */
    {0x2060, 0x2065, UNSEEN},                              /* word joiner, invisible operators */
    {0x2066, 0x2069, CONTROL},                             /* isolates */
    {0x206a, 0x206f, UNSEEN},    {0x2800, 0x2800, UNSEEN}, /* blank of Braille */
    {0x3164, 0x3164, UNSEEN},                              /* Hangul filler */
    {0xe000, 0xf8ff, UNSEEN},                              /* private use */
    {0xfdd0, 0xfdef, UNSEEN},    {0xfe00, 0xfe0f, VARIANT},
    {0xfeff, 0xfeff, UNSEEN},                                /* byte order mark */
    {0xffa0, 0xffa0, UNSEEN},    {0xfff0, 0xfffb, UNSEEN},   /* interlinear annotation */
    {0xfffe, 0xffff, UNSEEN},    {0x1bca0, 0x1bca3, UNSEEN}, /* shorthand controls */
    {0x1d173, 0x1d17a, UNSEEN},                              /* musical controls */
    {0xe0000, 0xe00ff, UNSEEN},                              /* tags */
    {0xe0100, 0xe01ef, VARIANT}, {0xe01f0, 0xe0fff, UNSEEN},
    {0xf0000, 0x10ffff, UNSEEN}, /* private use */
};

static enum kind kind_of(uint32_t code) {
    if (code >= 0x10000 && (code & 0xfffe) == 0xfffe)
        return UNSEEN; /* the last two of a plane */
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && ranges[i].first <= code; i++)
        if (code <= ranges[i].last)
            return ranges[i].kind;
    return SEEN;
}

/* The character that n > 0 bytes begin with, and how many it has; a byte of broken text is one by itself. */
static uint32_t decode(const unsigned char *text, size_t n, size_t *ret_bytes) {
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

/*
 * What a person sees of the character at text, which is bytes long and comes
 * after before. Joiners and variants belong to scripts and emoji: they are as
 * good as seen behind, joiners also before, a character that is not ASCII.
 * Beside ASCII they could only make a name look like another.
 */
static enum kind look(const unsigned char *text, size_t n, uint32_t before, size_t *ret_bytes) {
    size_t next_bytes;
    uint32_t code = decode(text, n, ret_bytes);
    enum kind kind = kind_of(code), kind_before = kind_of(before);
    bool fits = before >= 0x80 && (kind_before == SEEN || (kind == JOINER && kind_before == VARIANT));
    if (kind == JOINER) {
        uint32_t next = decode(text + *ret_bytes, n - *ret_bytes, &next_bytes);
        fits = fits && next >= 0x80 && kind_of(next) == SEEN;
    }
    return kind != JOINER && kind != VARIANT ? kind : fits ? SEEN : UNSEEN;
}

/* The first that is not seen as it is, or SEEN. */
static enum kind find_unseen(const unsigned char *path, size_t n) {
    uint32_t before = 0;
    size_t bytes;
    for (size_t i = 0; i < n; i += bytes) {
        enum kind kind = look(path + i, n - i, before, &bytes);
        if (kind != SEEN)
            return kind;
        before = decode(path + i, n - i, &bytes);
    }
    return SEEN;
}

/* See: the Unicode category Zs. */
static bool is_space(uint32_t code) {
    return code == 0x20 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
           code == 0x205f || code == 0x3000;
}

/* A space, or what ends a line or goes on in it. */
static bool is_blank(uint32_t code) {
    return is_space(code) || (code >= '\t' && code <= '\r') || code == 0x85 || code == 0x2028 || code == 0x2029;
}

/* As both below. */
static const char *show(const char *string, bool as_line, char *buf, size_t size) {
    const unsigned char *text = (const unsigned char *)string;
    size_t n = strlen(string), at = 0, bytes;
    uint32_t before = 0;
    for (size_t i = 0; i < n && at + 1 < size; i += bytes) {
        bool seen = look(text + i, n - i, before, &bytes) == SEEN, was_blank = is_blank(before);
        before = decode(text + i, n - i, &bytes);
        bool blank = as_line && is_blank(before);
        const char *shown = blank ? " " : seen ? string + i : "?";
        size_t shown_bytes = blank && was_blank ? 0 : blank || !seen ? 1 : bytes;
        if (shown_bytes > size - 1 - at)
            break;
        memcpy(buf + at, shown, shown_bytes);
        at += shown_bytes;
    }
    buf[at] = '\0';
    return buf;
}

const char *filename_shown(const char *path, char *buf, size_t size) {
    return show(path, false, buf, size);
}

const char *filename_line(const char *text, char *buf, size_t size) {
    return show(text, true, buf, size);
}

/* Windows, and file systems made for it, drop them: the name would be another. */
static bool ends_in_space_or_dot(const unsigned char *name, size_t n) {
    size_t start = n - 1;
    size_t bytes;
    while (start > 0 && (name[start] & 0xc0) == 0x80)
        start--;
    return name[n - 1] == '.' || is_space(decode(name + start, n - start, &bytes));
}

static const char *name_problem(const char *name, size_t n) {
    if (n == 0)
        return "has an empty name in it";
    if ((n == 1 && name[0] == '.') || (n == 2 && name[0] == '.' && name[1] == '.'))
        return "has \".\" or \"..\" in it";
    if (n > FILENAME_NAME_BYTES)
        return "has a name of more than 200 bytes in it";
    if (ends_in_space_or_dot((const unsigned char *)name, n))
        return "has a name in it that ends in a space or a dot";
    return NULL;
}

const char *filename_problem(const char *path, size_t n) {
    int depth = 0;
    if (n == 0)
        return "is empty";
    if (n > FILENAME_PATH_BYTES)
        return "is longer than 1024 bytes";
    if (path[0] == '/')
        return "is absolute";
    if (utf8_valid((const unsigned char *)path, n) != n)
        return "is not UTF-8";
    enum kind kind = find_unseen((const unsigned char *)path, n);
    if (kind != SEEN)
        return kind == CONTROL ? "has control characters in it" : "has characters in it that are not seen";
    for (size_t at = 0; at <= n;) {
        const char *slash = memchr(path + at, '/', n - at);
        size_t bytes = slash ? (size_t)(slash - path) - at : n - at;
        const char *problem = name_problem(path + at, bytes);
        if (problem)
            return problem;
        if (++depth > FILENAME_DEPTH)
            return "is more than 32 folders deep";
        at += bytes + 1;
    }
    return NULL;
}

bool filename_has(const char *path, const char *name, bool whole) {
    size_t n = strlen(name);
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, name, n) == 0 && (!whole || at[n] == '/' || at[n] == '\0'))
            return true;
    }
    return false;
}
