/*
 * redact.h - takes out what must not be stored: what looks like a secret, and the operator's own patterns.
 */
#ifndef PETRI_REDACT_H
#define PETRI_REDACT_H

#include "kernel/base/pattern.h"
#include "protocol/bytes.h"

#include <stddef.h>

/*
 * Appends text without its secrets to out; patterns may be NULL. The rest of a
 * text for which a pattern did not have enough time is left out. Returns how many
 * pieces were taken out.
 */
size_t redact_text(const struct patterns *patterns, const char *text, size_t bytes, struct bytes *out);

/* A copy of any JSON value with all its texts, keys too, redacted; the caller's, NULL on ENOMEM. The number of pieces
 * is added to count. */
json_t *redact_json(const struct patterns *patterns, const json_t *json, size_t *count);

#endif
