/*
 * secrets_text.c - the classes of characters, and the ends of runs.
 *
 * The ends of long runs are remembered, so that they are not searched again from
 * each word in a run: otherwise a text of words and dashes would take quadratic
 * time. For the same reason only the first bytes of a run decide whether it is a
 * secret.
 */

#include "secrets_text.h"

enum { LOOK_BYTES = 64 }; /* how much of a run decides whether it is a secret */

const uint16_t secrets_class_table[256] = {
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

size_t secrets_run_end(const struct secrets_text *text, size_t at, unsigned class, size_t most, unsigned *seen) {
    size_t end = at;
    while (end < text->n && (most == 0 || end - at < most)) {
        unsigned classes = secrets_classes((unsigned char)text->at[end]);
        if (!(classes & class))
            break;
        *seen |= classes;
        end++;
    }
    return end;
}

size_t secrets_long_run_end(struct secrets_text *text, size_t at, unsigned class, unsigned *seen) {
    unsigned ignored = 0;
    size_t end = secrets_run_end(text, at, class, LOOK_BYTES, seen);
    if (end - at < LOOK_BYTES)
        return end;
    for (size_t i = 0; i < SECRETS_RUNS_KEPT; i++)
        if (text->runs[i].class == class && !text->runs[i].lines && text->runs[i].start <= at && at < text->runs[i].end)
            return text->runs[i].end;
    end = secrets_run_end(text, end, class, 0, &ignored);
    text->runs[text->n_runs++ % SECRETS_RUNS_KEPT] = (struct secrets_run){class, false, at, end};
    return end;
}

size_t secrets_skip_lines(const struct secrets_text *text, size_t at) {
    for (int i = 0; i < 2; i++) {
        size_t end = at + (secrets_is_at(text, at, "\\r") ? 2 : secrets_byte_at(text, at) == '\r' ? 1 : 0);
        if (secrets_byte_at(text, end) == '\n')
            at = end + 1;
        else if (secrets_is_at(text, end, "\\n"))
            at = end + 2;
    }
    return at;
}

size_t secrets_lines_end(struct secrets_text *text, size_t at, unsigned class, unsigned *seen) {
    unsigned ignored = 0;
    size_t end = secrets_long_run_end(text, at, class, seen);
    size_t next = secrets_skip_lines(text, end);
    if (next == end || next >= text->n || !(secrets_classes(secrets_byte_at(text, next)) & class))
        return end;
    *seen |= secrets_classes(secrets_byte_at(text, next)) & class;
    for (size_t i = 0; i < SECRETS_RUNS_KEPT; i++)
        if (text->runs[i].class == class && text->runs[i].lines && text->runs[i].start <= at && at < text->runs[i].end)
            return text->runs[i].end;
    while (next > end && next < text->n && secrets_classes(secrets_byte_at(text, next)) & class) {
        end = secrets_run_end(text, next, class, 0, &ignored);
        next = secrets_skip_lines(text, end);
    }
    text->runs[text->n_runs++ % SECRETS_RUNS_KEPT] = (struct secrets_run){class, true, at, end};
    return end;
}
