/*
 * secrets_text.h - a text, or a view of one, in which secrets are looked for: its runs of characters, its lines.
 *
 * Of the sources secrets*.c alone.
 */
#ifndef PETRI_SECRETS_TEXT_H
#define PETRI_SECRETS_TEXT_H

#include "kernel/records/secrets.h"
#include "kernel/records/secrets_view.h"

#include <string.h>

enum { SECRETS_RUNS_KEPT = 24 }; /* more than there are classes of runs without an end, twice */

/* A run whose end is known, so that no byte is looked at again from each place where a word begins in it. */
struct secrets_run {
    unsigned class;
    bool lines; /* it goes on over line ends */
    size_t start, end;
};

struct secrets_text {
    const char *at;
    size_t n;
    const struct secrets_view *view; /* which this is the text of */
    bool first[256];                 /* characters that a row begins with */
    struct secrets_run runs[SECRETS_RUNS_KEPT];
    size_t n_runs;  /* all that were ever kept */
    size_t behind;  /* where the last secret ended: a word may begin there */
    size_t pem_end; /* the next "-----END " at or behind what was asked about last; n where there is none */
    bool pem_known;
};

static inline unsigned char secrets_byte_at(const struct secrets_text *text, size_t at) {
    return at < text->n ? (unsigned char)text->at[at] : '\0';
}

static inline bool secrets_is_at(const struct secrets_text *text, size_t at, const char *literal) {
    size_t n = strlen(literal);
    return at <= text->n && text->n - at >= n && memcmp(text->at + at, literal, n) == 0;
}

/* The end of the run of a class that begins at at and goes no further than most bytes (0: as far as it goes); what is
 * seen of classes goes to seen. */
size_t secrets_run_end(const struct secrets_text *text, size_t at, unsigned class, size_t most, unsigned *seen);

/* The end of the run however long it is; only its first bytes count for seen. */
size_t secrets_long_run_end(struct secrets_text *text, size_t at, unsigned class, unsigned *seen);

/*
 * Where a token goes on behind a line end at at, or behind two, as they are or
 * as repr() writes them; else at.
 */
size_t secrets_skip_lines(const struct secrets_text *text, size_t at);

/* As secrets_long_run_end(), over line ends with characters of the class on both sides. */
size_t secrets_lines_end(struct secrets_text *text, size_t at, unsigned class, unsigned *seen);

/* Whether a token of a known form begins at at; then hit is what it is. secrets_token.c. */
bool secrets_find_token(struct secrets_text *text, size_t at, struct secrets_hit *hit);

#endif
