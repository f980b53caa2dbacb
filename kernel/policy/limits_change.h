/*
 * limits_change.h - other limits than the profile's: asked for by a cell, a request or the configuration.
 *
 * Durations take ms, s, m, h; sizes K, M, G (powers of 1024), with or without
 * a B or iB. What is over the ceiling is refused with a sentence that names it.
 */
#ifndef PETRI_LIMITS_CHANGE_H
#define PETRI_LIMITS_CHANGE_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/policy/limits.h"

#include <stdbool.h>

/* Who asks: a cell can't change what was fixed when its session started. */
enum limits_asker { ASKER_CELL, ASKER_SESSION };

struct limits_change {
    enum profile profile; /* whose ceilings hold */
    enum limits_asker asker;
    struct error *ret_error; /* one sentence, without a full stop, where something is refused */
};

/* A value as people write it. 0, or -EINVAL where text is no value of this unit, or no positive one. */
int limits_parse(enum limit_unit unit, const char *text, int64_t *ret_value) MUST_CHECK;

/* All below: 0 with limits changed, or -EINVAL with ret_error, then limits may be changed in part. */

/* One limit by its name, with a value as people write it. */
int limits_change_one(const struct limits_change *change, struct limits *limits, const char *name,
                      const char *text) MUST_CHECK;

/* "timeout=10s memory=1G", n bytes of it. */
int limits_change_line(const struct limits_change *change, struct limits *limits, const char *line,
                       size_t n) MUST_CHECK;

/* {"timeout": "10s", "processes": 8}; a number counts in the limit's own unit: milliseconds, bytes. NULL asks nothing.
 */
int limits_change_json(const struct limits_change *change, struct limits *limits, const json_t *json) MUST_CHECK;

/* What the first line of a cell says about limits. */
enum limits_line {
    LIMITS_LINE_NONE,    /* nothing */
    LIMITS_LINE_CELL,    /* "%%limits timeout=10s": for this cell */
    LIMITS_LINE_SESSION, /* "%limits timeout=10s": for this cell and those after it */
    LIMITS_LINE_SHOW,    /* one of the words alone: show the limits in force */
};

/*
 * Reads the first line of a cell where it is %%limits or %limits, and what it
 * asks for into limits. The line is made a comment, so that the others keep
 * their numbers, or dropped where the next one is a magic of the whole cell and
 * has to come first. ret_code is the caller's, and the code itself where there
 * is no such line.
 */
int limits_change_code(const struct limits_change *change, struct limits *limits, json_t *code, json_t **ret_code,
                       enum limits_line *ret_line) MUST_CHECK;

#endif
