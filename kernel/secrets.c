#include "secrets.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    NAME_BYTES_MAX = 64,    /* of a name that a value is given to */
    SPACES_MAX = 8,         /* between a name and its value */
    ESCAPES_MAX = 6,        /* colours between them */
    ESCAPE_BYTES_MAX = 16,  /* of one colour */
    VALUE_BYTES_MAX = 4096, /* in quotes */
    PLAIN_BYTES_MIN = 4,    /* of a value without quotes */
    TOKEN_BYTES_MIN = 12,   /* of a value that has to look like a token */
    URL_BYTES_MAX = 256,    /* of a user's name or a password in a URL */
    LOOK_BYTES = 64,        /* how much of a run decides whether it is a secret */
    PASSES_MAX = 8,         /* over a text: what was found last time may have hidden more */
    RUNS_KEPT = 12,         /* more than there are classes of runs without an end */
};

/* A run whose end is known, so that no byte is looked at again from each place where a word begins in it. */
struct run {
    unsigned class;
    size_t start, end;
};

struct text {
    const char *at;
    size_t n;
    bool first[256]; /* characters that a row begins with */
    struct run runs[RUNS_KEPT];
    size_t n_runs;  /* all that were ever kept */
    size_t behind;  /* where the last secret ended: a word may begin there */
    size_t pem_end; /* the next "-----END " at or behind what was asked about last; n where there is none */
    bool pem_known;
};

struct hit {
    size_t start, end;
    const char *kind;
};

static const uint16_t classes_of[256] = {
    ['0' ... '9'] = SECRETS_DIGIT, ['a' ... 'f'] = SECRETS_LOWER | SECRETS_HEX,
    ['g' ... 'z'] = SECRETS_LOWER, ['A' ... 'Z'] = SECRETS_UPPER,
    ['_'] = SECRETS_UNDERSCORE,    ['-'] = SECRETS_DASH,
    ['+'] = SECRETS_BASE64,        ['/'] = SECRETS_BASE64,
    ['='] = SECRETS_BASE64,        ['.'] = SECRETS_DOT,
    ['~'] = SECRETS_TILDE,         [':'] = SECRETS_COLON,
    ['!'] = SECRETS_SIGN,          ['#' ... '%'] = SECRETS_SIGN,
    ['^'] = SECRETS_SIGN,          ['*'] = SECRETS_SIGN,
    ['@'] = SECRETS_SIGN,
};

unsigned secrets_classes(unsigned char character) {
    return classes_of[character];
}

static const unsigned word = SECRETS_DIGIT | SECRETS_LOWER | SECRETS_UPPER | SECRETS_UNDERSCORE;
/* Of values without quotes. */
static const unsigned plain = SECRETS_DIGIT | SECRETS_LOWER | SECRETS_UPPER | SECRETS_UNDERSCORE | SECRETS_DASH |
                              SECRETS_BASE64 | SECRETS_DOT | SECRETS_TILDE | SECRETS_COLON | SECRETS_SIGN;

static unsigned char byte_at(const struct text *text, size_t at) {
    return at < text->n ? (unsigned char)text->at[at] : '\0';
}

static bool is_at(const struct text *text, size_t at, const char *literal) {
    size_t n = strlen(literal);
    return at <= text->n && text->n - at >= n && memcmp(text->at + at, literal, n) == 0;
}

/* The end of the run of a class that begins at at and goes no further than most bytes (0: as far as it goes); what is
 * seen of classes goes to seen. */
static size_t run_end(const struct text *text, size_t at, unsigned class, size_t most, unsigned *seen) {
    size_t end = at;
    while (end < text->n && (most == 0 || end - at < most)) {
        unsigned classes = classes_of[(unsigned char)text->at[end]];
        if (!(classes & class))
            break;
        *seen |= classes;
        end++;
    }
    return end;
}

/* The end of the run however long it is; only its first bytes count for seen. */
static size_t long_run_end(struct text *text, size_t at, unsigned class, unsigned *seen) {
    unsigned ignored = 0;
    size_t end = run_end(text, at, class, LOOK_BYTES, seen);
    if (end - at < LOOK_BYTES)
        return end;
    for (size_t i = 0; i < RUNS_KEPT; i++)
        if (text->runs[i].class == class && text->runs[i].start <= at && at < text->runs[i].end)
            return text->runs[i].end;
    end = run_end(text, end, class, 0, &ignored);
    text->runs[text->n_runs++ % RUNS_KEPT] = (struct run){class, at, end};
    return end;
}

/* The end of the escape sequence of a colour at at, or at where there is none. See: ECMA-48, SGR. */
static size_t skip_escape(const struct text *text, size_t at) {
    size_t end = at + 2;
    if (byte_at(text, at) != '\x1b' || byte_at(text, at + 1) != '[')
        return at;
    while (end < at + ESCAPE_BYTES_MAX && (isdigit(byte_at(text, end)) || byte_at(text, end) == ';'))
        end++;
    return byte_at(text, end) == 'm' ? end + 1 : at;
}

static size_t skip_escapes(const struct text *text, size_t at) {
    for (int i = 0; i < ESCAPES_MAX; i++)
        at = skip_escape(text, at);
    return at;
}

static size_t skip_spaces(const struct text *text, size_t at) {
    size_t end = skip_escapes(text, at);
    size_t most = end + SPACES_MAX;
    while (end < most && (byte_at(text, end) == ' ' || byte_at(text, end) == '\t'))
        end++;
    return skip_escapes(text, end);
}

/* Whether the byte before at is the m of a colour. */
static bool is_behind_escape(const struct text *text, size_t at) {
    for (size_t i = 2; i < ESCAPE_BYTES_MAX && i <= at; i++)
        if (text->at[at - i] == '\x1b')
            return skip_escape(text, at - i) == at;
    return false;
}

/* Whether a word can begin at at: behind what is of no word, a colour, or \n as repr() writes it. */
static bool begins_word(const struct text *text, size_t at) {
    if (at == 0 || at == text->behind)
        return true;
    unsigned char before = (unsigned char)text->at[at - 1];
    if (!(secrets_classes(before) & word))
        return true;
    if (before == 'm')
        return is_behind_escape(text, at);
    return at >= 2 && text->at[at - 2] == '\\' && strchr("nrt", before) != NULL;
}

static bool fits_row(struct text *text, size_t at, const struct secrets_row *row, size_t *ret_end) {
    unsigned seen = 0;
    for (size_t i = 0; i < SECRETS_PARTS; i++) {
        const struct secrets_part *part = &row->parts[i];
        if (part->literal) {
            if (!is_at(text, at, part->literal))
                return false;
            at += strlen(part->literal);
        } else if (part->min > 0) {
            size_t end = part->max ? run_end(text, at, part->class, (size_t)part->max + 1, &seen)
                                   : long_run_end(text, at, part->class, &seen);
            if (end - at < part->min || (part->max && end - at > part->max))
                return false;
            at = end;
        }
    }
    *ret_end = at;
    return (seen & row->needs) == row->needs;
}

static bool find_token(struct text *text, size_t at, struct hit *hit) {
    static const unsigned url = SECRETS_DIGIT | SECRETS_LOWER | SECRETS_UPPER | SECRETS_UNDERSCORE | SECRETS_DASH;
    unsigned seen = 0;
    for (size_t i = 0; text->first[(unsigned char)text->at[at]] && i < secrets_n_rows; i++) {
        size_t end;
        const char *first = secrets_rows[i].parts[0].literal;
        if (first[0] != text->at[at] || !fits_row(text, at, &secrets_rows[i], &end))
            continue;
        /* What ends in a literal goes on to the end of its signature, which may be missing. */
        if (text->at[end - 1] == '.')
            end = run_end(text, end, url, 0, &seen);
        *hit = (struct hit){at, end, secrets_rows[i].kind};
        return true;
    }
    return false;
}

/* The next line "-----END " from at on: n where there is none. Asked with growing at, it looks at each byte once. */
static size_t next_pem_end(struct text *text, size_t at) {
    static const char mark[] = "-----END ";
    if (text->pem_known && text->pem_end >= at)
        return text->pem_end;
    const char *found = memmem(text->at + at, text->n - at, mark, strlen(mark));
    text->pem_end = found ? (size_t)(found - text->at) : text->n;
    text->pem_known = true;
    return text->pem_end;
}

/* -----BEGIN ... PRIVATE KEY ...-----, up to its end, or as far as it can go. */
static bool find_pem(struct text *text, size_t at, struct hit *hit) {
    static const char begin[] = "-----BEGIN ";
    static const unsigned label = SECRETS_UPPER | SECRETS_DIGIT;
    unsigned seen = 0;
    bool private = false;
    if (!is_at(text, at, begin))
        return false;
    size_t end = at + strlen(begin);
    for (size_t limit = end + 64; end < limit && !is_at(text, end, "-----"); end++) {
        private = private || is_at(text, end, "PRIVATE KEY");
        if (!(secrets_classes(byte_at(text, end)) & label) && byte_at(text, end) != ' ')
            return false;
    }
    if (!private || !is_at(text, end, "-----"))
        return false;
    size_t last = next_pem_end(text, end);
    if (last < text->n) {
        end = last + strlen("-----END ");
        while (end < text->n && end < last + 80 && text->at[end] != '-' && text->at[end] != '\n')
            end++;
        end = run_end(text, end, SECRETS_DASH, 5, &seen);
    } else {
        end = text->n;
    }
    *hit = (struct hit){at, end, "private key"};
    return true;
}

static bool is_url_end(unsigned char c) {
    return c <= ' ' || c == '/' || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`' || c == '\\';
}

/* The password in scheme://user:PASSWORD@host; at is the colon. */
static bool find_url(const struct text *text, size_t at, struct hit *hit) {
    size_t start = at + 3;
    size_t last = 0;
    if (!is_at(text, at, "://"))
        return false;
    for (size_t most = start + URL_BYTES_MAX; byte_at(text, start) != ':'; start++)
        if (start == most || is_url_end(byte_at(text, start)) || byte_at(text, start) == '@')
            return false;
    start++;
    for (size_t end = start; end < start + URL_BYTES_MAX && !is_url_end(byte_at(text, end)); end++)
        if (text->at[end] == '@')
            last = end;
    /* ${PASSWORD} and {password} stand for one, and the mark is none. */
    if (last <= start || strchr("[{$%", text->at[start]))
        return false;
    *hit = (struct hit){start, last, "URL"};
    return true;
}

/* The row for a name that ends at end, or NULL. */
static const struct secrets_name *find_name(const struct text *text, size_t start, size_t end) {
    for (size_t i = 0; i < secrets_n_names; i++) {
        size_t n = strlen(secrets_names[i].end);
        if (end - start >= n && strncasecmp(text->at + end - n, secrets_names[i].end, n) == 0)
            return &secrets_names[i];
    }
    return NULL;
}

/* Over "]  =", "' :", ": str =" to where the value begins; 0 where there is none. tight: = and nothing around it. */
static size_t find_value(const struct text *text, size_t at, bool *ret_tight) {
    unsigned seen = 0;
    size_t name_end = at;
    if (byte_at(text, at) == '"' || byte_at(text, at) == '\'' || is_at(text, at, "\\\""))
        at += text->at[at] == '\\' ? 2 : 1;
    if (byte_at(text, at) == ']')
        at++;
    at = skip_spaces(text, at);
    if (byte_at(text, at) == ':') {
        size_t type = skip_spaces(text, at + 1);
        size_t behind = skip_spaces(text, run_end(text, type, word, NAME_BYTES_MAX, &seen));
        at = byte_at(text, behind) == '=' ? behind : at;
    }
    unsigned char sign = byte_at(text, at);
    if (sign != ':' && sign != '=')
        return 0;
    *ret_tight = sign == '=' && at == name_end;
    at++;
    if (byte_at(text, at) == '=' || byte_at(text, at) == '>')
        at++;
    size_t value = skip_spaces(text, at);
    *ret_tight = *ret_tight && value == name_end + 1;
    return value;
}

/* Past "Bearer " and its like. */
static size_t skip_scheme(const struct text *text, size_t at) {
    static const char *const schemes[] = {"Bearer ", "Basic ", "Token ", "Digest ", "ApiKey ", "Key "};
    for (size_t i = 0; i < sizeof schemes / sizeof schemes[0]; i++) {
        size_t n = strlen(schemes[i]);
        if (text->n - at >= n && strncasecmp(text->at + at, schemes[i], n) == 0)
            return at + n;
    }
    return at;
}

static bool find_quoted(const struct text *text, size_t at, const struct secrets_name *name, struct hit *hit) {
    char quote = text->at[at] == '\\' ? text->at[at + 1] : text->at[at];
    size_t start = skip_escapes(text, at + (text->at[at] == '\\' ? 2 : 1));
    unsigned seen = 0;
    if (name->scheme)
        start = skip_scheme(text, start);
    size_t end = start;
    while (end < text->n && end - start < VALUE_BYTES_MAX && text->at[end] != quote && text->at[end] != '\n' &&
           text->at[end] != '\x1b' && !is_at(text, end, "\\\""))
        end++;
    bool closed = end < text->n && text->at[end] != '\n' && end - start < VALUE_BYTES_MAX;
    bool token = end - start >= TOKEN_BYTES_MIN && run_end(text, start, plain, end - start, &seen) == end &&
                 (seen & SECRETS_DIGIT);
    if (!closed || end == start || strchr("),;] {$", text->at[start]) || is_at(text, start, "[redacted: ") ||
        (name->long_only && !token))
        return false;
    *hit = (struct hit){start, end, "credential"};
    return true;
}

static bool is_capital(const struct text *text, size_t start, size_t end) {
    while (start < end && !islower((unsigned char)text->at[start]))
        start++;
    return start == end;
}

static bool is_constant(const struct text *text, size_t start, size_t end) {
    static const char *const words[] = {"None", "True", "False", "null", "true", "false"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (end - start == strlen(words[i]) && is_at(text, start, words[i]))
            return true;
    return false;
}

/* A value without quotes: most of what follows such a name in code is code. */
static bool find_plain(struct text *text, size_t at, const struct secrets_name *name, bool env, struct hit *hit) {
    static const unsigned strange = SECRETS_DIGIT | SECRETS_BASE64 | SECRETS_SIGN;
    unsigned seen = 0;
    size_t start = name->scheme ? skip_scheme(text, at) : at;
    size_t end = long_run_end(text, start, plain, &seen);
    unsigned char next = byte_at(text, end);
    size_t least = name->long_only ? TOKEN_BYTES_MIN : PLAIN_BYTES_MIN;
    bool likely = name->long_only ? (seen & SECRETS_DIGIT) != 0 : (seen & strange) != 0 || env || start > at;
    if (end - start < least || !likely || next == '(' || next == '[' || next == '{' || is_constant(text, start, end))
        return false;
    *hit = (struct hit){start, end, "credential"};
    return true;
}

/* NAME = VALUE, where the name says that the value is a secret. */
static bool find_named(struct text *text, size_t at, struct hit *hit) {
    unsigned seen = 0;
    bool tight = false;
    size_t end = run_end(text, at, word | SECRETS_DASH, NAME_BYTES_MAX, &seen);
    const struct secrets_name *name = end > at ? find_name(text, at, end) : NULL;
    size_t value = name ? find_value(text, end, &tight) : 0;
    if (value == 0 || value >= text->n)
        return false;
    if (text->at[value] == '"' || text->at[value] == '\'' || is_at(text, value, "\\\""))
        return find_quoted(text, value, name, hit);
    return find_plain(text, value, name, tight && is_capital(text, at, end), hit);
}

static bool find_at(struct text *text, size_t at, struct hit *hit) {
    char c = text->at[at];
    if (c == '-')
        return find_pem(text, at, hit);
    if (c == ':')
        return find_url(text, at, hit);
    if (!(classes_of[(unsigned char)c] & word) || !begins_word(text, at))
        return false;
    return find_token(text, at, hit) || find_named(text, at, hit);
}

bool secrets_is_named(const char *name, const char *value, size_t value_bytes) {
    const struct text value_text = {.at = value, .n = value_bytes};
    const struct text name_text = {.at = name, .n = strlen(name)};
    unsigned seen = 0;
    const struct secrets_name *row = find_name(&name_text, 0, name_text.n);
    if (!row || value_bytes == 0 || is_at(&value_text, 0, "[redacted: "))
        return false;
    return !row->long_only || (value_bytes >= TOKEN_BYTES_MIN &&
                               run_end(&value_text, 0, plain, 0, &seen) == value_bytes && (seen & SECRETS_DIGIT));
}

void secrets_mark(struct bytes *out, const char *kind) {
    bytes_append_text(out, "[redacted: ");
    bytes_append_text(out, kind);
    bytes_append_text(out, "]");
}

static size_t remove_once(const char *text_at, size_t n, struct bytes *out) {
    struct text text = {.at = text_at, .n = n, .behind = SIZE_MAX};
    size_t count = 0;
    size_t written = 0;
    if (n == 0)
        return 0;
    for (size_t i = 0; i < secrets_n_rows; i++)
        text.first[(unsigned char)secrets_rows[i].parts[0].literal[0]] = true;
    for (size_t at = 0; at < n;) {
        struct hit hit;
        if (!find_at(&text, at, &hit)) {
            at++;
            continue;
        }
        bytes_append(out, text_at + written, hit.start - written);
        secrets_mark(out, hit.kind);
        written = at = text.behind = hit.end;
        count++;
    }
    bytes_append(out, text_at + written, n - written);
    return count;
}

/* A secret can keep another one from being found: a key as the user's name in a URL, a private key with its lines
 * inside quotes. So what is left is looked through again, and that once more for each time that something was found. */
size_t secrets_remove(const char *text, size_t n, struct bytes *out) {
    auto_bytes before = {0};
    size_t start = out->n;
    size_t found = remove_once(text, n, out);
    size_t count = found;
    for (int pass = 1; found > 0 && pass < PASSES_MAX && bytes_ok(out); pass++) {
        before.n = 0;
        bytes_append(&before, out->data + start, out->n - start);
        out->failed = before.failed;
        out->n = start;
        found = remove_once(before.data, before.n, out);
        count += found;
    }
    return count;
}
