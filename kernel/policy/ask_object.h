/*
 * ask_object.h - a JSON object that is read by a table of its keys: metadata.petri, and the objects in it.
 */
#ifndef PETRI_ASK_OBJECT_H
#define PETRI_ASK_OBJECT_H

#include "kernel/policy/ask.h"

#include <stdbool.h>

/* What the parsers of single keys work on. */
struct ask_reading {
    const struct asking *asking;
    struct limits *limits;
    struct ask *ask;
};

/* One key, its parser, and what it takes, as the end of a sentence ("a text of up to 128 bytes"). */
struct ask_key {
    const char *name;
    int (*parse)(const struct ask_reading *reading, const json_t *json);
    const char *takes;
};

/* Puts a sentence into why. Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int ask_refuse(const struct ask_reading *reading, const char *format, ...);

/* What a parser returns where its value is not what the key takes: ask_read_object() says so. */
enum { ASK_NOT_THIS = -1000 };

/* Reads an object by a table of n keys; where names it in sentences: "metadata.petri", "files[2]". 0 or -EINVAL. */
int ask_read_object(const struct ask_reading *reading, const char *where, const struct ask_key *keys, size_t n,
                    const json_t *json) __attribute__((warn_unused_result));

/* Whether json is a text of 1 to max bytes without NUL. */
bool ask_is_text(const json_t *json, size_t max);

#endif
