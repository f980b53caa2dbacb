/*
 * limits.h - the table of limits, and the limits in force for a cell.
 *
 * A row has a limit's name, its unit, its default and ceiling for each profile,
 * and what enforces it. Everything else (sentences, the session's options, the
 * report, the output of %limits) is made from the table.
 */
#ifndef PETRI_LIMITS_H
#define PETRI_LIMITS_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of profiles: what a session shows and does by its nature, and the columns of the table of limits. */
enum profile_kind { PROFILE_NOTEBOOK, PROFILE_STRICT, PROFILE_N };

enum limit {
    LIMIT_TIMEOUT,
    LIMIT_INPUT_WAIT,
    LIMIT_CPU,
    LIMIT_MEMORY,
    LIMIT_PROCESSES,
    LIMIT_CPUS,
    LIMIT_DISK,
    LIMIT_FILES,
    LIMIT_OUTPUT,
    LIMIT_DISPLAY,
    LIMIT_DISPLAYS,
    LIMIT_ARTIFACT,
    LIMIT_ARTIFACTS,
    LIMIT_CODE,
    LIMIT_HISTORY,
    LIMIT_HISTORY_MEMORY,
    LIMIT_RUNS,
    LIMIT_BUDGET,
    LIMIT_TASK_ARTIFACTS,
    LIMIT_N,
};

enum limit_unit { UNIT_COUNT, UNIT_MS, UNIT_BYTES };

struct limit_row {
    const char *name;
    const char *help;
    const char *by; /* what enforces it */
    struct {
        int64_t normal; /* the default */
        int64_t ceiling;
    } of[PROFILE_N];
    enum limit_unit unit;
    bool tightens;   /* a cell can only lower it */
    bool of_session; /* holds for the session as a whole, so a cell can't change it */
};

extern const struct limit_row limit_rows[LIMIT_N];

enum { PROFILE_NAME_BYTES = 32 };

/* A profile: one of the table's, or one that the configuration bases on another. A plain value. */
struct profile {
    char name[PROFILE_NAME_BYTES];
    enum profile_kind kind;
    int64_t ceilings[LIMIT_N]; /* before the machine's */
};

/* Whether a text is one that a profile may have as its name: letters a to z first, then digits, - and _ too. */
bool profile_is_name(const char *text);

/* The name of a kind, which is that of the table's profile. */
const char *profile_name(enum profile_kind kind);

/* 0, or -EINVAL where no profile of the table has this name. */
int profile_from_name(const char *name, enum profile_kind *ret_kind) MUST_CHECK;

/* The table's profile of a kind. */
void profile_of_kind(enum profile_kind kind, struct profile *ret_profile);

#define LIMITS_NONE INT64_MAX        /* as a default or ceiling: there is no limit */
#define LIMITS_SHARE (INT64_MAX - 1) /* as a default: a share of what the machine has */

/* The limits in force for one cell. */
struct limits {
    int64_t values[LIMIT_N];
};

/* Of the table, for a profile of this kind. */
void limits_defaults(enum profile_kind kind, struct limits *ret_limits);

/* The ceiling on this machine. */
int64_t limits_ceiling(const struct profile *profile, enum limit limit);

/* Computes the limits that follow from others: cpu, if not set, from timeout and cpus. */
void limits_resolve(struct limits *limits);

/*
 * The limits of an introspection (introspection.h) while the session's cells have
 * these: none is greater than the cells', and all introspections that run at once
 * share the cells' memory and processes. ret_limits is resolved; limits that
 * don't concern an introspection have the session's value. Returns how many may
 * run at once: one for each processor of the session, but no more than at_most.
 */
int limits_beside(const struct limits *in_force, int at_most, struct limits *ret_limits);

/* A limit's name with its unit, as reports have it: "timeout_ms". Returns buf. */
const char *limits_key(enum limit limit, char *buf, size_t size);

/* The limits as JSON, with units in the names: {"timeout_ms": 5000, ...}. The caller's; NULL on ENOMEM. */
json_t *limits_json(const struct limits *limits);

/* A value as a request or a line may write it: "2m", "1500ms", "512M"; value is positive. Returns buf. */
const char *limits_written(enum limit_unit unit, int64_t value, char *buf, size_t size);

/*
 * How a cell asks for more than a value of a limit, and how much it can get:
 * "%%limits timeout=10s, or more up to 1m"; "" where the value is the ceiling.
 * Returns buf.
 */
const char *limits_more(const struct profile *profile, enum limit limit, int64_t value, char *buf, size_t size);

/* A value as people read it: "120 s", "1 MiB", "256", "none". Returns buf. */
const char *limits_text(enum limit_unit unit, int64_t value, char *buf, size_t size);

#endif
