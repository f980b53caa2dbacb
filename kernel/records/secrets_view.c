/*
 * secrets_view.c - makes a view in one pass, with the position in the text for each byte.
 *
 * A view never has more bytes than its text, so its memory is allocated at once.
 * A unit is a character (plain or escaped), an escape sequence, a tag or a
 * comment. An incomplete one is treated as plain text, so that nothing can be
 * hidden after an opening without an end. That a tag or comment has no end is
 * remembered, so that the text is not searched again from each "<". A view that
 * equals another one is not made.
 */

#include "secrets_view.h"

#include "protocol/text.h"
#include "protocol/unseen.h"
#include "protocol/utf8.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    BACKSLASHES_MAX = 16,     /* before one letter, as in nested string literals */
    REFERENCE_BYTES_MAX = 24, /* &ZeroWidthSpace; and leading zeros */
    BACKSPACE = '\b',
    BELL = '\a',
    ESCAPE = 0x1b,
    STRING_END = 0x9c,
    NOTHING = 0x200b, /* a unit that is left out */
};

/* A character of the text, plain or escaped. */
struct unit {
    uint32_t code;
    size_t end;
};

struct maker {
    const unsigned char *text;
    size_t n;
    unsigned flags;
    unsigned used;          /* flags that have made a difference */
    bool differs;           /* from the text */
    size_t no_tag_before;   /* no tag begins before this position: that was searched */
    bool no_comment;        /* no further comment has an end */
    size_t line, cursor;    /* in the view: where its last line begins, and where the next byte goes */
    struct secrets_view to; /* what is made */
};

/* digits hexadecimal ones at at. False where there are fewer. */
static bool read_hex(const struct maker *maker, size_t at, size_t digits, uint32_t *ret_code) {
    uint32_t code = 0;
    if (maker->n - at < digits)
        return false;
    for (size_t i = 0; i < digits; i++) {
        int value = text_hex_value((char)maker->text[at + i]);
        if (value < 0)
            return false;
        code = code << 4 | (uint32_t)value;
    }
    *ret_code = code;
    return true;
}

static bool is_at(const struct maker *maker, size_t at, const char *literal) {
    size_t n = strlen(literal);
    return at <= maker->n && maker->n - at >= n && memcmp(maker->text + at, literal, n) == 0;
}

/* \ud83d\ude00: a character in two parts. at is behind the first. */
static void join_surrogates(const struct maker *maker, size_t at, struct unit *unit) {
    uint32_t low;
    if (unit->code < 0xd800 || unit->code > 0xdbff || !is_at(maker, at, "\\u") || !read_hex(maker, at + 2, 4, &low) ||
        low < 0xdc00 || low > 0xdfff)
        return;
    *unit = (struct unit){0x10000 + ((unit->code - 0xd800) << 10) + (low - 0xdc00), at + 6};
}

/* A character that is spelled with a backslash at at. See: Python, "String and Bytes literals"; RFC 8259, 7. */
static bool read_escape(const struct maker *maker, size_t at, struct unit *ret) {
    static const char letters[] = "nrtbfvae\"'", meanings[] = "\n\r\t\b\f\v\a\x1b\"'";
    size_t letter = at;
    struct unit unit;
    while (letter < maker->n && letter - at < BACKSLASHES_MAX && maker->text[letter] == '\\')
        letter++;
    if (letter >= maker->n)
        return false;
    unsigned char c = maker->text[letter];
    size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const char *known = c ? strchr(letters, c) : NULL;
    if (digits > 0) {
        if (!read_hex(maker, letter + 1, digits, &unit.code))
            return false;
        unit.end = letter + 1 + digits;
        join_surrogates(maker, unit.end, &unit);
    } else if (is_at(maker, letter, "033")) {
        unit = (struct unit){ESCAPE, letter + 3};
    } else if (c == '\n' || is_at(maker, letter, "\r\n")) {
        unit = (struct unit){NOTHING, letter + (c == '\n' ? 1 : 2)}; /* the line goes on */
    } else if (known) {
        unit = (struct unit){(unsigned char)meanings[known - letters], letter + 1};
    } else {
        return false;
    }
    *ret = unit;
    return true;
}

/* Those that stand for what is not seen, and for what is in keys or beside them. See: HTML, 13.5. */
static const struct reference {
    const char *name;
    uint32_t code;
} references[] = {
    {"shy", 0xad},
    {"zwj", 0x200d},
    {"zwnj", 0x200c},
    {"lrm", 0x200e},
    {"rlm", 0x200f},
    {"ZeroWidthSpace", 0x200b},
    {"NoBreak", 0x2060},
    {"Tab", '\t'},
    {"NewLine", '\n'},
    {"nbsp", ' '},
    {"quot", '"'},
    {"QUOT", '"'},
    {"apos", '\''},
    {"lowbar", '_'},
    {"UnderBar", '_'},
    {"colon", ':'},
    {"equals", '='},
    {"period", '.'},
    {"sol", '/'},
    {"plus", '+'},
    {"commat", '@'},
    {"num", '#'},
    {"excl", '!'},
    {"dollar", '$'},
    {"percnt", '%'},
    {"ast", '*'},
    {"midast", '*'},
    {"Hat", '^'},
    {"InvisibleComma", 0x2063},
    {"InvisibleTimes", 0x2062},
    {"ApplyFunction", 0x2061},
    {"lt", '<'},
    {"gt", '>'},
    {"amp", '&'},
};

/* &#8203; &#x200b; &shy; at at. */
static bool read_reference(const struct maker *maker, size_t at, struct unit *ret) {
    char name[REFERENCE_BYTES_MAX + 1];
    size_t n = 0;
    for (size_t i = at + 1;
         i < maker->n && n < REFERENCE_BYTES_MAX && (isalnum(maker->text[i]) || (n == 0 && maker->text[i] == '#')); i++)
        name[n++] = (char)maker->text[i];
    name[n] = '\0';
    if (name[0] == '#') {
        bool hex = name[1] == 'x' || name[1] == 'X';
        char *rest;
        const char *digits = name + (hex ? 2 : 1);
        unsigned long code = strtoul(digits, &rest, hex ? 16 : 10);
        if (rest == digits || code > 0x10ffff)
            return false;
        size_t end = at + 1 + (size_t)(rest - name);
        *ret = (struct unit){(uint32_t)code, end + is_at(maker, end, ";")};
        return true;
    }
    for (size_t i = 0; i < sizeof references / sizeof references[0]; i++) {
        if (strcmp(references[i].name, name) == 0) {
            *ret = (struct unit){references[i].code, at + 1 + n + is_at(maker, at + 1 + n, ";")};
            return true;
        }
    }
    return false;
}

/* The character at at, which is before the end. A byte of broken text is one by itself. */
static struct unit read_unit(const struct maker *maker, size_t at) {
    struct unit unit;
    size_t bytes;
    if (maker->text[at] == '\\' && read_escape(maker, at, &unit))
        return unit;
    uint32_t code = unseen_decode(maker->text + at, maker->n - at, &bytes);
    return (struct unit){code, at + bytes};
}

/* The end of an escape sequence that begins with escape, or that character's own. What is not whole is none. */
static size_t sequence_end(const struct maker *maker, struct unit escape) {
    const unsigned char *text = maker->text;
    size_t at = escape.end;
    unsigned char kind = escape.code == 0x9b ? '[' : escape.code != ESCAPE ? ']' : at < maker->n ? text[at++] : '\0';
    /* A mark, "[redacted: ", is no escape sequence, whatever comes before it. */
    if (kind == '[' && !is_at(maker, at, "redacted: ")) {
        while (at < maker->n && text[at] >= 0x20 && text[at] <= 0x3f)
            at++;
        return at < maker->n && text[at] >= 0x40 && text[at] <= 0x7e ? at + 1 : escape.end;
    }
    if (kind && strchr("]PX^_", kind)) {
        struct unit unit = {0, at};
        while (unit.end < maker->n && unit.code != BELL && unit.code != STRING_END && unit.code != ESCAPE)
            unit = read_unit(maker, unit.end);
        if (unit.code == ESCAPE)
            return unit.end < maker->n && text[unit.end] == '\\' ? unit.end + 1 : escape.end;
        return unit.code == BELL || unit.code == STRING_END ? unit.end : escape.end;
    }
    if (kind && strchr(" #%()*+-./", kind))
        return at < maker->n && text[at] > ' ' && text[at] < 0x7f ? at + 1 : escape.end;
    return kind && strchr("78=>", kind) ? at : escape.end;
}

static bool begins_sequence(uint32_t code) {
    return code == ESCAPE || code == 0x90 || code == 0x98 || code == 0x9b || (code >= 0x9d && code <= 0x9f);
}

/* The end of a comment whose "<!" ends at at; 0 where it has none. */
static size_t comment_end(struct maker *maker, size_t at) {
    uint32_t before[2] = {'-', '-'};
    for (struct unit unit = {0, at + 2}; unit.end < maker->n;) {
        unit = read_unit(maker, unit.end);
        if (unit.code == '>' && before[0] == '-' && before[1] == '-')
            return unit.end;
        if (!(before[0] == '-' && before[1] == '-' && unit.code == '!')) /* "--!>" is an end, too */
            before[1] = before[0], before[0] = unit.code;
    }
    maker->no_comment = true;
    return 0;
}

/* The end of a tag whose "<" ends at at; 0 where it has none. Up to there, or up to what ends it, there is none. */
static size_t tag_end(struct maker *maker, size_t at) {
    uint32_t quote = 0, before = 0;
    struct unit unit = {0, at};
    while (unit.end < maker->n) {
        size_t start = unit.end;
        unit = read_unit(maker, start);
        if (quote)
            quote = unit.code == quote ? 0 : quote;
        else if (unit.code == '>')
            return unit.end;
        else if (before == '=' && (unit.code == '"' || unit.code == '\''))
            quote = unit.code;
        else if (unit.code == '<') {
            maker->no_tag_before = start;
            return 0;
        }
        before = unit.code == ' ' ? before : unit.code;
    }
    maker->no_tag_before = maker->n;
    return 0;
}

/* Whether a tag, whose name begins at at, begins or ends a line. */
static bool breaks_line(const struct maker *maker, size_t at) {
    static const char *const names[] = {"br", "p",  "div", "li", "ul", "ol", "tr", "td", "th", "table",
                                        "hr", "h1", "h2",  "h3", "h4", "h5", "h6", "dt", "dd", "pre"};
    size_t n = 0;
    at += at < maker->n && maker->text[at] == '/';
    while (at + n < maker->n && n < 8 && isalnum(maker->text[at + n]))
        n++;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strlen(names[i]) == n && strncasecmp(names[i], (const char *)maker->text + at, n) == 0)
            return true;
    return false;
}

/* A tag or comment that begins with a "<" at at and ends at less. */
static bool read_tag(struct maker *maker, size_t at, size_t less, struct unit *ret) {
    unsigned char next = less < maker->n ? maker->text[less] : '\0';
    size_t end = 0;
    if (at < maker->no_tag_before)
        return false;
    if (is_at(maker, less, "!--"))
        end = maker->no_comment ? 0 : comment_end(maker, less + 1);
    else if (isalpha(next) || next == '/' || next == '!' || next == '?')
        end = tag_end(maker, less);
    if (end == 0)
        return false;
    *ret = (struct unit){breaks_line(maker, less) ? '\n' : NOTHING, end};
    return true;
}

static void put_byte(struct maker *maker, unsigned char byte, size_t start, size_t end) {
    struct secrets_view *to = &maker->to;
    size_t at = byte == '\n' ? to->n : maker->cursor;
    to->text[at] = (char)byte;
    to->start[at] = (uint32_t)start;
    to->end[at] = (uint32_t)end;
    to->n = at == to->n ? at + 1 : to->n;
    maker->cursor = at + 1;
    if (byte == '\n')
        maker->line = to->n;
}

static void put_unit(struct maker *maker, size_t at, struct unit unit) {
    bool as_it_is = maker->text[at] != '\\' && maker->text[at] != '&';
    char spelled[4];
    if (unit.code < 0x80) {
        maker->differs = maker->differs || unit.end > at + 1;
        put_byte(maker, (unsigned char)unit.code, at, unit.end);
    } else if (as_it_is) {
        for (size_t i = at; i < unit.end; i++)
            put_byte(maker, maker->text[i], i, i + 1);
    } else {
        bool is_none = unit.code > 0x10ffff || (unit.code >= 0xd800 && unit.code <= 0xdfff);
        uint32_t code = is_none ? UTF8_REPLACEMENT_CODE : unit.code;
        size_t bytes = utf8_encode(code, spelled);
        for (size_t i = 0; i < bytes; i++)
            put_byte(maker, (unsigned char)spelled[i], at, unit.end);
        maker->differs = true;
    }
}

/* Backspace or carriage return; the latter does nothing before a line feed. */
static void go_back(struct maker *maker, struct unit unit) {
    maker->differs = true;
    if (!(maker->flags & SECRETS_VIEW_OVERWRITE))
        return;
    if (unit.code == '\r' && unit.end < maker->n && read_unit(maker, unit.end).code == '\n')
        return;
    maker->used |= SECRETS_VIEW_OVERWRITE;
    if (unit.code == '\r')
        maker->cursor = maker->line;
    else if (maker->cursor > maker->line)
        maker->cursor--;
}

/* One character, sequence, tag or comment. Returns where the next one begins. */
static size_t take_unit(struct maker *maker, size_t at) {
    struct unit unit = read_unit(maker, at);
    if (maker->flags & SECRETS_VIEW_HTML) {
        bool html = (unit.code == '<' && read_tag(maker, at, unit.end, &unit)) ||
                    (maker->text[at] == '&' && read_reference(maker, at, &unit));
        if (html)
            maker->used |= SECRETS_VIEW_HTML;
        if (html && unit.code == '\n') {
            put_byte(maker, '\n', at, unit.end);
            maker->differs = true;
            return unit.end;
        }
    }
    if (unit.code == '\r' || unit.code == BACKSPACE) {
        go_back(maker, unit);
    } else if (begins_sequence(unit.code)) {
        unit.end = sequence_end(maker, unit);
        maker->differs = true;
    } else if (unit.code != '\n' && unit.code != '\t' && unseen_kind(unit.code) != UNSEEN_NOT) {
        maker->differs = true;
    } else {
        put_unit(maker, at, unit);
    }
    return unit.end;
}

static bool has_any(const char *text, size_t n, const char *const *pieces) {
    for (size_t i = 0; pieces[i]; i++)
        if (memmem(text, n, pieces[i], strlen(pieces[i])))
            return true;
    return false;
}

static bool is_unlike(const char *text, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\\' || ((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') ||
            (unsigned char)text[i] >= 0x7f)
            return true;
    return false;
}

/* Whether a view with these flags can differ from the text: for most texts it can't, and is not made. */
static bool may_differ(const char *text, size_t n, unsigned flags) {
    static const char *const tags[] = {"x3c", "x3C", "003c", "003C", NULL};
    static const char *const returns[] = {"\\b", "\\r", "x08", "x0d", "x0D", "0008", "000d", "000D", NULL};
    static const char *const numbered[] = {"&#", NULL};
    bool spelled = memchr(text, '\\', n) != NULL;
    if ((flags & SECRETS_VIEW_HTML) && !memchr(text, '<', n) && !memchr(text, '&', n) &&
        !(spelled && has_any(text, n, tags)))
        return false;
    if ((flags & SECRETS_VIEW_OVERWRITE) && !memchr(text, '\b', n) && !memchr(text, '\r', n) &&
        !(spelled && has_any(text, n, returns)) && !has_any(text, n, numbered))
        return false;
    return flags != 0 || is_unlike(text, n);
}

int secrets_view_make(const char *text, size_t n, unsigned flags, struct secrets_view *ret_view) {
    if (n == 0 || !may_differ(text, n, flags))
        return 0;
    struct maker maker = {.text = (const unsigned char *)text, .n = n, .flags = flags};
    if (n > UINT32_MAX)
        return -ENOMEM;
    maker.to = (struct secrets_view){malloc(n), 0, malloc(n * sizeof(uint32_t)), malloc(n * sizeof(uint32_t))};
    if (!maker.to.text || !maker.to.start || !maker.to.end) {
        secrets_view_fini(&maker.to);
        return -ENOMEM;
    }
    for (size_t at = 0; at < n;)
        at = take_unit(&maker, at);
    if (!maker.differs || maker.used != flags) {
        secrets_view_fini(&maker.to);
        return 0;
    }
    *ret_view = maker.to;
    return 1;
}

void secrets_view_fini(struct secrets_view *view) {
    free(view->text);
    free(view->start);
    free(view->end);
    *view = (struct secrets_view){0};
}

void secrets_view_range(const struct secrets_view *view, size_t *start, size_t *end) {
    size_t first = SIZE_MAX, last = 0;
    if (view->n == 0)
        return;
    for (size_t i = *start; i < *end; i++) {
        first = view->start[i] < first ? view->start[i] : first;
        last = view->end[i] > last ? view->end[i] : last;
    }
    *start = first;
    *end = last;
}
