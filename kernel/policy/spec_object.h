/*
 * spec_object.h - a JSON object that is read by a table of its keys: metadata.petri, and the objects in it.
 */
#ifndef PETRI_SPEC_OBJECT_H
#define PETRI_SPEC_OBJECT_H

#include "base/cleanup.h"
#include "kernel/policy/spec.h"

#include <stdbool.h>

/* What the parsers of single keys work on. */
struct spec_reading {
    const struct spec_terms *terms;
    struct limits *limits;
    struct spec *spec;
};

/* One key, its parser, and what it takes, as the end of a sentence ("a text of up to 128 bytes"). */
struct spec_key {
    const char *name;
    int (*parse)(const struct spec_reading *reading, const json_t *json);
    const char *takes;
};

/* Puts a sentence into ret_error. Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int spec_refuse(const struct spec_reading *reading, const char *format, ...);

/* What a parser returns where its value is not what the key takes: spec_read_object() says so. */
enum { SPEC_NOT_THIS = -1000 };

/* Reads an object by a table of n keys; where names it in sentences: "metadata.petri", "files[2]". 0 or -EINVAL. */
int spec_read_object(const struct spec_reading *reading, const char *where, const struct spec_key *keys, size_t n,
                     const json_t *json) MUST_CHECK;

/* Whether json is a text of 1 to max bytes without NUL. */
bool spec_is_text(const json_t *json, size_t max);

#endif
