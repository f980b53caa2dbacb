/*
 * secrets.c - checks each place where a secret can begin, once, from the beginning to the end.
 *
 * A match is skipped as a whole, and a failed attempt has read a bounded number
 * of bytes. The ends of unbounded runs are remembered (secrets_text.h), and so is
 * the next end of a PEM block. So a pass takes linear time. The number of passes
 * is fixed: a secret that is only found after the last of them stays.
 *
 * Marks ("[redacted: ...]") are never found as secrets, and a hit has a mark as a
 * whole or not at all, so that a later pass does not split it.
 */

#include "secrets.h"

#include "kernel/records/secrets_text.h"
#include "kernel/records/secrets_view.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_BYTES_MAX = 64,    /* of a name that has a value */
    SPACES_MAX = 8,         /* between a name and its value */
    ESCAPES_MAX = 6,        /* colours between them */
    ESCAPE_BYTES_MAX = 16,  /* of one colour */
    VALUE_BYTES_MAX = 4096, /* in quotes */
    PLAIN_BYTES_MIN = 4,    /* of a value without quotes */
    TOKEN_BYTES_MIN = 12,   /* of a value that has to look like a token */
    URL_BYTES_MAX = 256,    /* of a user's name or a password in a URL */
    MARK_BYTES_MAX = 96,    /* longer than any mark */
    PASSES_MAX = 8,         /* over a text: a secret may hide another one */
};

static const unsigned word = SECRETS_DIGIT | SECRETS_LOWER | SECRETS_UPPER | SECRETS_UNDERSCORE;
/* The characters of values without quotes. */
static const unsigned plain = SECRETS_DIGIT | SECRETS_LOWER | SECRETS_UPPER | SECRETS_UNDERSCORE | SECRETS_DASH |
                              SECRETS_BASE64 | SECRETS_DOT | SECRETS_TILDE | SECRETS_COLON | SECRETS_SIGN;

/* The end of the colour's escape sequence at `at`; `at` where there is none. See: ECMA-48, SGR. */
static size_t skip_colour(const struct secrets_text *text, size_t at) {
    size_t end = at + 2;
    if (secrets_byte_at(text, at) != '\x1b' || secrets_byte_at(text, at + 1) != '[')
        return at;
    while (end < at + ESCAPE_BYTES_MAX && (isdigit(secrets_byte_at(text, end)) || secrets_byte_at(text, end) == ';'))
        end++;
    return secrets_byte_at(text, end) == 'm' ? end + 1 : at;
}

static size_t skip_escapes(const struct secrets_text *text, size_t at) {
    for (int i = 0; i < ESCAPES_MAX; i++)
        at = skip_colour(text, at);
    return at;
}

static size_t skip_spaces(const struct secrets_text *text, size_t at) {
    size_t end = skip_escapes(text, at);
    size_t most = end + SPACES_MAX;
    while (end < most && (secrets_byte_at(text, end) == ' ' || secrets_byte_at(text, end) == '\t'))
        end++;
    return skip_escapes(text, end);
}

/* Whether the byte before `at` ends a colour's escape sequence. */
static bool is_behind_escape(const struct secrets_text *text, size_t at) {
    for (size_t i = 2; i < ESCAPE_BYTES_MAX && i <= at; i++)
        if (text->at[at - i] == '\x1b')
            return skip_colour(text, at - i) == at;
    return false;
}

/* Whether a word can begin at `at`: after a character that is not of a word, a colour, or \n as repr() writes it. */
static bool begins_word(const struct secrets_text *text, size_t at) {
    if (at == 0 || at == text->behind || secrets_view_gap(text->view, at))
        return true;
    unsigned char before = (unsigned char)text->at[at - 1];
    if (!(secrets_classes(before) & word))
        return true;
    if (before == 'm')
        return is_behind_escape(text, at);
    return at >= 2 && text->at[at - 2] == '\\' && strchr("nrt", before) != NULL;
}

/* The next line "-----END " from at on: n where there is none. Asked with growing at, it looks at each byte once. */
static size_t next_pem_end(struct secrets_text *text, size_t at) {
    static const char mark[] = "-----END ";
    if (text->pem_known && text->pem_end >= at)
        return text->pem_end;
    const char *found = memmem(text->at + at, text->n - at, mark, strlen(mark));
    text->pem_end = found ? (size_t)(found - text->at) : text->n;
    text->pem_known = true;
    return text->pem_end;
}

/* -----BEGIN ... PRIVATE KEY ...-----, up to its END line; where that is missing, as far as it can be a key. */
static bool find_pem(struct secrets_text *text, size_t at, struct secrets_hit *hit) {
    static const char begin[] = "-----BEGIN ";
    static const unsigned label = SECRETS_UPPER | SECRETS_DIGIT;
    unsigned seen = 0;
    bool private = false;
    if (!secrets_is_at(text, at, begin))
        return false;
    size_t end = at + strlen(begin);
    for (size_t limit = end + 64; end < limit && !secrets_is_at(text, end, "-----"); end++) {
        private = private || secrets_is_at(text, end, "PRIVATE KEY");
        if (!(secrets_classes(secrets_byte_at(text, end)) & label) && secrets_byte_at(text, end) != ' ')
            return false;
    }
    if (!private || !secrets_is_at(text, end, "-----"))
        return false;
    size_t last = next_pem_end(text, end);
    if (last < text->n) {
        end = last + strlen("-----END ");
        while (end < text->n && end < last + 80 && text->at[end] != '-' && text->at[end] != '\n')
            end++;
        end = secrets_run_end(text, end, SECRETS_DASH, 5, &seen);
    } else {
        end = text->n;
    }
    *hit = (struct secrets_hit){at, end, "private key"};
    return true;
}

static bool is_url_end(unsigned char c) {
    return c <= ' ' || c == '/' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' || c == '\\';
}

/* The password in scheme://user:PASSWORD@host; at is the colon. */
static bool find_url(const struct secrets_text *text, size_t at, struct secrets_hit *hit) {
    size_t start = at + 3;
    size_t last = 0;
    if (!secrets_is_at(text, at, "://"))
        return false;
    for (size_t most = start + URL_BYTES_MAX; secrets_byte_at(text, start) != ':'; start++)
        if (start == most || is_url_end(secrets_byte_at(text, start)) || secrets_byte_at(text, start) == '@')
            return false;
    start++;
    for (size_t end = start; end < start + URL_BYTES_MAX && !is_url_end(secrets_byte_at(text, end)); end++)
        if (text->at[end] == '@')
            last = end;
    /* Not for placeholders, ${PASSWORD} and {password}, and for marks. */
    if (last <= start || strchr("[{$%", text->at[start]))
        return false;
    *hit = (struct secrets_hit){start, last, "URL"};
    return true;
}

/* The row for a name that ends at end, or NULL. */
static const struct secrets_name *find_name(const struct secrets_text *text, size_t start, size_t end) {
    for (size_t i = 0; i < secrets_n_names; i++) {
        size_t n = strlen(secrets_names[i].end);
        if (end - start >= n && strncasecmp(text->at + end - n, secrets_names[i].end, n) == 0)
            return &secrets_names[i];
    }
    return NULL;
}

/* Skips "] =", "' :", ": str =". Returns where the value begins; 0 where there is none. tight: = without spaces. */
static size_t find_value(const struct secrets_text *text, size_t at, bool *ret_tight) {
    unsigned seen = 0;
    size_t name_end = at;
    if (secrets_byte_at(text, at) == '"' || secrets_byte_at(text, at) == '\'' || secrets_is_at(text, at, "\\\""))
        at += text->at[at] == '\\' ? 2 : 1;
    if (secrets_byte_at(text, at) == ']')
        at++;
    at = skip_spaces(text, at);
    if (secrets_byte_at(text, at) == ':') {
        size_t type = skip_spaces(text, at + 1);
        size_t behind = skip_spaces(text, secrets_run_end(text, type, word, NAME_BYTES_MAX, &seen));
        at = secrets_byte_at(text, behind) == '=' ? behind : at;
    }
    unsigned char sign = secrets_byte_at(text, at);
    if (sign != ':' && sign != '=')
        return 0;
    *ret_tight = sign == '=' && at == name_end;
    at++;
    if (secrets_byte_at(text, at) == '=' || secrets_byte_at(text, at) == '>')
        at++;
    size_t value = skip_spaces(text, at);
    *ret_tight = *ret_tight && value == name_end + 1;
    return value;
}

/* Skips "Bearer " and similar words. */
static size_t skip_scheme(const struct secrets_text *text, size_t at) {
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token ", "Digest ", "ApiKey ", "Key "};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t n = strlen(schemes[i]);
        if (text->n - at >= n && strncasecmp(text->at + at, schemes[i], n) == 0)
            return at + n;
    }
    return at;
}

static bool find_quoted(const struct secrets_text *text, size_t at, const struct secrets_name *name,
                        struct secrets_hit *hit) {
    char quote = text->at[at] == '\\' ? text->at[at + 1] : text->at[at];
    size_t start = skip_escapes(text, at + (text->at[at] == '\\' ? 2 : 1));
    unsigned seen = 0;
    if (name->scheme)
        start = skip_scheme(text, start);
    size_t end = start;
    while (end < text->n && end - start < VALUE_BYTES_MAX && text->at[end] != quote && text->at[end] != '\n' &&
           text->at[end] != '\x1b' && !secrets_is_at(text, end, "\\\""))
        end++;
    bool closed = end < text->n && text->at[end] != '\n' && end - start < VALUE_BYTES_MAX;
    bool token = end - start >= TOKEN_BYTES_MIN && secrets_run_end(text, start, plain, end - start, &seen) == end &&
                 (seen & SECRETS_DIGIT);
    if (!closed || end == start || strchr("),;] {$", text->at[start]) || secrets_is_at(text, start, "[redacted: ") ||
        (name->long_only && !token))
        return false;
    *hit = (struct secrets_hit){start, end, "credential"};
    return true;
}

static bool is_capital(const struct secrets_text *text, size_t start, size_t end) {
    while (start < end && !islower((unsigned char)text->at[start]))
        start++;
    return start == end;
}

static bool is_constant(const struct secrets_text *text, size_t start, size_t end) {
    static const char *const words[] = {"None", "True", "False", "null", "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (end - start == strlen(words[i]) && secrets_is_at(text, start, words[i]))
            return true;
    return false;
}

/* A value without quotes, which in code is usually an expression and not a secret. */
static bool find_plain(struct secrets_text *text, size_t at, const struct secrets_name *name, bool env,
                       struct secrets_hit *hit) {
    static const unsigned strange = SECRETS_DIGIT | SECRETS_BASE64 | SECRETS_SIGN;
    unsigned seen = 0;
    size_t start = name->scheme ? skip_scheme(text, at) : at;
    size_t end = secrets_long_run_end(text, start, plain, &seen);
    unsigned char next = secrets_byte_at(text, end);
    size_t least = name->long_only ? TOKEN_BYTES_MIN : PLAIN_BYTES_MIN;
    bool likely = name->long_only ? (seen & SECRETS_DIGIT) != 0 : (seen & strange) != 0 || env || start > at;
    if (end - start < least || !likely || next == '(' || next == '[' || next == '{' || is_constant(text, start, end))
        return false;
    *hit = (struct secrets_hit){start, end, "credential"};
    return true;
}

/* NAME = VALUE, where the name says that the value is a secret. */
static bool find_named(struct secrets_text *text, size_t at, struct secrets_hit *hit) {
    unsigned seen = 0;
    bool tight = false;
    size_t end = secrets_run_end(text, at, word | SECRETS_DASH, NAME_BYTES_MAX, &seen);
    size_t value = end > at ? find_value(text, end, &tight) : 0;
    const struct secrets_name *name = value > 0 ? find_name(text, at, end) : NULL; /* few words have a value */
    if (!name || value >= text->n)
        return false;
    if (text->at[value] == '"' || text->at[value] == '\'' || secrets_is_at(text, value, "\\\""))
        return find_quoted(text, value, name, hit);
    return find_plain(text, value, name, tight && is_capital(text, at, end), hit);
}

static bool find_at(struct secrets_text *text, size_t at, struct secrets_hit *hit) {
    char c = text->at[at];
    if (c == '-')
        return find_pem(text, at, hit);
    if (c == ':')
        return find_url(text, at, hit);
    if (!(secrets_classes((unsigned char)c) & word) || !begins_word(text, at))
        return false;
    return secrets_find_token(text, at, hit) || find_named(text, at, hit);
}

/* The row for a name, after unseen characters are left out. */
static const struct secrets_name *row_of_name(const char *name) {
    const struct secrets_name *row = NULL;
    for (unsigned flags = 0; !row && flags <= SECRETS_VIEW_N; flags++) {
        auto_secrets_view view = {0};
        struct secrets_text text = {.at = name, .n = strlen(name), .view = &view};
        if (flags < SECRETS_VIEW_N && secrets_view_make(name, text.n, flags, &view) == 1)
            text = (struct secrets_text){.at = view.text, .n = view.n, .view = &view};
        row = find_name(&text, 0, text.n);
    }
    return row;
}

bool secrets_is_named(const char *name, const char *value, size_t value_bytes) {
    static const struct secrets_view none;
    const struct secrets_text value_text = {.at = value, .n = value_bytes, .view = &none};
    unsigned seen = 0;
    const struct secrets_name *row = row_of_name(name);
    if (!row || value_bytes == 0 || secrets_is_at(&value_text, 0, "[redacted: "))
        return false;
    return !row->long_only ||
           (value_bytes >= TOKEN_BYTES_MIN && secrets_run_end(&value_text, 0, plain, 0, &seen) == value_bytes &&
            (seen & SECRETS_DIGIT));
}

void secrets_mark(struct bytes *out, const char *kind) {
    bytes_append_text(out, "[redacted: ");
    bytes_append_text(out, kind);
    bytes_append_text(out, "]");
}

/* Finds all secrets in a text, or in a view of it, as positions in the text. False where there is no memory. */
static bool find_all(const char *text_at, size_t n, const struct secrets_view *view, struct bytes *hits) {
    struct secrets_text text = {
        .at = view->n ? view->text : text_at, .n = view->n ? view->n : n, .view = view, .behind = SIZE_MAX};
    for (size_t i = 0; i < secrets_n_rows; i++)
        text.first[(unsigned char)secrets_rows[i].parts[0].literal[0]] = true;
    for (size_t at = 0; at < text.n;) {
        struct secrets_hit hit;
        if (!find_at(&text, at, &hit)) {
            at++;
            continue;
        }
        at = text.behind = hit.end;
        secrets_view_range(view, &hit.start, &hit.end);
        bytes_append(hits, &hit, sizeof hit);
    }
    return bytes_ok(hits);
}

static const char mark_begin[] = "[redacted: ";

/* The mark that has `at` in it; a view may show only a part of a mark. False where there is none. */
static bool mark_around(const char *text, size_t n, size_t at, size_t *ret_start, size_t *ret_end) {
    size_t start = at;
    while (start > 0 && at - start < MARK_BYTES_MAX && text[start - 1] != ']') {
        start--;
        if (n - start < strlen(mark_begin) || memcmp(text + start, mark_begin, strlen(mark_begin)) != 0)
            continue;
        const char *end = memchr(text + start, ']', n - start < MARK_BYTES_MAX ? n - start : MARK_BYTES_MAX);
        if (!end || (size_t)(end - text) < at)
            return false;
        *ret_start = start;
        *ret_end = (size_t)(end - text) + 1;
        return true;
    }
    return false;
}

/* Adjusts a hit so that it does not split marks. False where it has nothing but marks. */
static bool fit_marks(const char *text, size_t n, struct secrets_hit *hit) {
    size_t start, end;
    if (mark_around(text, n, hit->start, &start, &end))
        hit->start = start;
    if (hit->end < n && mark_around(text, n, hit->end, &start, &end))
        hit->end = end > hit->end ? end : hit->end;
    bool begins =
        hit->end - hit->start >= strlen(mark_begin) && memcmp(text + hit->start, mark_begin, strlen(mark_begin)) == 0;
    return !begins || memchr(text + hit->start, ']', hit->end - hit->start) != text + hit->end - 1;
}

static int compare_hits(const void *a, const void *b) {
    const struct secrets_hit *left = a, *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

size_t secrets_replace(const char *text, size_t n, struct secrets_hit *hits, size_t n_hits, struct bytes *out) {
    size_t written = 0;
    size_t count = 0;
    if (n_hits > 1)
        qsort(hits, n_hits, sizeof *hits, compare_hits);
    for (size_t i = 0; i < n_hits; i++) {
        if (!fit_marks(text, n, &hits[i]))
            continue;
        if (hits[i].start >= written) {
            bytes_append(out, text + written, hits[i].start - written);
            secrets_mark(out, hits[i].kind);
            count++;
        }
        written = hits[i].end > written ? hits[i].end : written;
    }
    bytes_append(out, text + written, n - written);
    return count;
}

/* One pass in one view; SECRETS_VIEW_N: in the text itself. Replaces now by the text without what was found. */
static size_t remove_in_view(unsigned flags, struct bytes *now) {
    auto_secrets_view view = {0};
    auto_bytes hits = {0};
    int r = flags < SECRETS_VIEW_N ? secrets_view_make(now->data, now->n, flags, &view) : 1;
    if (r == 1 && find_all(now->data, now->n, &view, &hits) && hits.n > 0) {
        struct bytes next = {0};
        size_t count = secrets_replace(now->data, now->n, (struct secrets_hit *)hits.data,
                                       hits.n / sizeof(struct secrets_hit), &next);
        next.failed = next.failed || now->failed;
        bytes_fini(now);
        *now = next;
        return count;
    }
    now->failed = now->failed || r < 0 || hits.failed;
    return 0;
}

/*
 * Views that leave out most come first: tokens are longer there, and a part of
 * one that another view finds would hide its end. The text itself comes last, for
 * secrets in what the views leave out. A secret can hide another one: a key as
 * the user's name in a URL, a private key with its lines in quotes. So the text
 * is searched again each time that something was found.
 */
size_t secrets_remove(const char *text, size_t n, struct bytes *out) {
    auto_bytes now = {0};
    size_t count = 0;
    size_t found = n > 0;
    bytes_append(&now, text, n);
    for (int pass = 0; found > 0 && pass < PASSES_MAX && bytes_ok(&now); pass++) {
        found = 0;
        for (unsigned view = 0; view <= SECRETS_VIEW_N; view++)
            found += remove_in_view(view < SECRETS_VIEW_N ? SECRETS_VIEW_N - 1 - view : SECRETS_VIEW_N, &now);
        count += found;
    }
    bytes_append(out, now.data, now.n);
    out->failed = out->failed || now.failed;
    return count;
}
