/*
 * redact.h - takes out what must not be stored: what looks like a secret, values of environment variables, and what
 * the operator's own patterns match.
 */
#ifndef PETRI_REDACT_H
#define PETRI_REDACT_H

#include "kernel/base/pattern.h"
#include "kernel/records/variables.h"
#include "protocol/bytes.h"

#include <stddef.h>

/* What is taken out beside what looks like a secret. Borrowed. */
struct redaction {
    const struct patterns *patterns;   /* the operator's; NULL for none */
    const struct variables *variables; /* NULL for none */
};

/*
 * Appends text without its secrets to out. The rest of a text for which a pattern
 * did not have enough time is left out. Returns how many pieces were taken out.
 */
size_t redact_text(const struct redaction *redaction, const char *text, size_t bytes, struct bytes *out);

/* The same of a cell's code, of which what its lines set variables to is taken out, too, whatever it is. */
size_t redact_code(const struct redaction *redaction, const char *code, size_t bytes, struct bytes *out);

/* A copy of any JSON value with all its texts, keys too, redacted; the caller's, NULL on ENOMEM. The number of pieces
 * is added to count. */
json_t *redact_json(const struct redaction *redaction, const json_t *json, size_t *count);

#endif
