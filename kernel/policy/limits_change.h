/*
 * limits_change.h - changes of limits that a cell, a request or the configuration asks for.
 *
 * Durations take ms, s, m, h; sizes K, M, G (powers of 1024), with or without a B
 * or iB. A value over the ceiling is refused with a sentence that names the
 * ceiling.
 */
#ifndef PETRI_LIMITS_CHANGE_H
#define PETRI_LIMITS_CHANGE_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/policy/limits.h"

#include <stdbool.h>

/* Who asks: a cell can't change limits that are fixed when its session starts. */
enum limits_asker { ASKER_CELL, ASKER_SESSION };

struct limits_change {
    const struct profile *profile; /* whose ceilings hold; borrowed */
    enum limits_asker asker;
    struct error *ret_error; /* one sentence, without a full stop, where something is refused */
};

/* Parses a value as people write it. 0, or -EINVAL where text is not a positive value of this unit. */
int limits_parse(enum limit_unit unit, const char *text, int64_t *ret_value) MUST_CHECK;

/* All functions below: 0 with limits changed; or -EINVAL with ret_error, and then some limits may be changed. */

/* One limit by its name, with a value as people write it. */
int limits_change_one(const struct limits_change *change, struct limits *limits, const char *name,
                      const char *text) MUST_CHECK;

/* "timeout=10s memory=1G", n bytes of it; timeout=2 is of seconds. */
int limits_change_line(const struct limits_change *change, struct limits *limits, const char *line,
                       size_t n) MUST_CHECK;

/* {"timeout": "10s", "processes": 8}; a number is in the limit's own unit: milliseconds, bytes. NULL changes
 * nothing. */
int limits_change_json(const struct limits_change *change, struct limits *limits, const json_t *json) MUST_CHECK;

/* The kind of the first line of a cell, after blank lines and comments. */
enum limits_line {
    LIMITS_LINE_NONE,    /* not about limits */
    LIMITS_LINE_CELL,    /* "%%limits timeout=10s": for this cell */
    LIMITS_LINE_SESSION, /* "%limits timeout=10s": for this cell and those after it */
    LIMITS_LINE_SHOW,    /* "%%limits" or "%limits" alone: show the limits in force */
};

/*
 * Where the first line of a cell is %%limits or %limits, changes limits as it
 * asks. In ret_code the line is a comment, so that the other lines keep their
 * numbers; or it is removed with those above it, where the next line is a cell
 * magic, which has to come first. ret_code is the caller's, and is the code itself where there is no
 * such line.
 */
int limits_change_code(const struct limits_change *change, struct limits *limits, json_t *code, json_t **ret_code,
                       enum limits_line *ret_line) MUST_CHECK;

#endif
