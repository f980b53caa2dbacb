/*
 * secrets.h - finds what looks like a key, a token or a password in any text.
 *
 * Linear by construction: nothing is tried twice, and the whole at most eight
 * times over, in each of the views of secrets_view.h. A row of secrets_table.c
 * is a fixed sequence of literals and runs of a class of characters, each taken
 * as far as it goes, over line ends too; what fails has looked at a bounded
 * number of bytes, and what fits is left behind. Beside the rows: PEM private
 * keys, passwords in URLs (scheme://user:PASSWORD@host), and values given to a
 * name that says what they are (password=..., "api_key": "...", Authorization:
 * Bearer ...); these end where their line does.
 *
 * Needs protocol/ and nothing else, so that it can be fuzzed by itself.
 *
 * Ours, because such detectors (gitleaks, detect-secrets) are lists of regular
 * expressions for programs of other languages, and here each byte may be
 * hostile and none may be read twice without a bound.
 */
#ifndef PETRI_SECRETS_H
#define PETRI_SECRETS_H

#include "protocol/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Appends text to out, with "[redacted: KIND]" in place of each secret.
 * Returns how many there were. What is left is looked at again, until nothing is found
 * or eight times: only a text made for it has secrets within more than eight others.
 */
size_t secrets_remove(const char *text, size_t bytes, struct bytes *out);

/* Whether value is a secret because of the name that it is given to. */
bool secrets_is_named(const char *name, const char *value, size_t value_bytes);

/* Writes the mark that stands for a secret of a kind. */
void secrets_mark(struct bytes *out, const char *kind);

/* A piece of a text, and what is to stand there. */
struct secrets_hit {
    size_t start, end;
    const char *kind;
};

/* Appends text to out with a mark in place of each hit; hits, which are sorted for it, may lie over each other. Returns
 * how many marks there are. */
size_t secrets_replace(const char *text, size_t bytes, struct secrets_hit *hits, size_t n_hits, struct bytes *out);

/* Classes of characters; a bit each, so that a class is a set of them. */
enum secrets_class {
    SECRETS_DIGIT = 1 << 0,
    SECRETS_HEX = 1 << 1, /* a to f */
    SECRETS_LOWER = 1 << 2,
    SECRETS_UPPER = 1 << 3,
    SECRETS_UNDERSCORE = 1 << 4,
    SECRETS_DASH = 1 << 5,
    SECRETS_BASE64 = 1 << 6, /* + / = */
    SECRETS_DOT = 1 << 7,
    SECRETS_TILDE = 1 << 8,
    SECRETS_COLON = 1 << 9,
    SECRETS_SIGN = 1 << 10, /* ! # $ % ^ * @: of passwords */
};

extern const uint16_t secrets_class_table[256];

/* The classes of a character. */
static inline unsigned secrets_classes(unsigned char character) {
    return secrets_class_table[character];
}

/* A literal, or where that is NULL a run of characters of a class: at least min of them. */
struct secrets_part {
    const char *literal;
    unsigned class;
    uint16_t min;
    uint16_t max; /* 0: any number; else more than that is no match */
};

enum { SECRETS_PARTS = 5 };

struct secrets_row {
    const char *kind;
    unsigned needs;                           /* of these classes it has at least one each, behind its first literal */
    struct secrets_part parts[SECRETS_PARTS]; /* the first one is a literal; min 0 and no literal ends them */
};

extern const struct secrets_row secrets_rows[];
extern const size_t secrets_n_rows;

/* A name whose value is a secret, by its end, in lower case. */
struct secrets_name {
    const char *end;
    bool scheme;    /* the value may begin with Bearer, Basic, ... */
    bool long_only; /* such names have many harmless values: only those that look like a token are taken */
};

extern const struct secrets_name secrets_names[];
extern const size_t secrets_n_names;

#endif
