/*
 * limits.c - the table of limits, and functions that read it.
 *
 * A default is a number, a share of the machine (LIMITS_SHARE), or 0 where it is
 * computed from other limits (FOLLOWS), and is never over its ceiling. The
 * machine's memory is read each time, because it may change while a kernel runs.
 * Texts for people use the largest unit in which a value is a whole number.
 */

#include "limits.h"

#include "kernel/policy/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define OF_THE_MACHINE INT64_MAX /* as a ceiling: what this machine has */
#define FOLLOWS INT64_C(0)       /* as a default: limits_resolve() computes it */

const struct limit_row limit_rows[LIMIT_N] = {
    [LIMIT_TIMEOUT] = {"timeout",
                       "wall clock of a cell; stands still while it waits for input() and does nothing else",
                       "the kernel's clock",
                       {[PROFILE_NOTEBOOK] = {HOUR, HOUR}, [PROFILE_STRICT] = {5 * SECOND, MINUTE}},
                       UNIT_MS},
    [LIMIT_INPUT_WAIT] = {"input_wait",
                          "how long a cell waits for answers to input(), all together",
                          "the kernel's clock",
                          {[PROFILE_NOTEBOOK] = {HOUR, 24 * HOUR}, [PROFILE_STRICT] = {5 * MINUTE, HOUR}},
                          UNIT_MS},
    [LIMIT_CPU] = {"cpu",
                   "CPU time of all the cell's processes",
                   "the kernel, which measures it",
                   {[PROFILE_NOTEBOOK] = {FOLLOWS, LIMITS_NONE}, [PROFILE_STRICT] = {5 * SECOND, MINUTE}},
                   UNIT_MS},
    [LIMIT_MEMORY] = {"memory",
                      "what the cell's processes hold",
                      "RLIMIT_DATA, and a control group or measuring",
                      {[PROFILE_NOTEBOOK] = {LIMITS_SHARE, OF_THE_MACHINE}, [PROFILE_STRICT] = {256 * MIB, GIB}},
                      UNIT_BYTES},
    [LIMIT_PROCESSES] = {"processes",
                         "tasks at once",
                         "RLIMIT_NPROC in a user namespace of the cell's own",
                         {[PROFILE_NOTEBOOK] = {256, 4096}, [PROFILE_STRICT] = {64, 256}},
                         UNIT_COUNT},
    [LIMIT_CPUS] = {"cpus",
                    "processors that a cell uses at once",
                    "CPU affinity",
                    {[PROFILE_NOTEBOOK] = {2, OF_THE_MACHINE}, [PROFILE_STRICT] = {1, 2}},
                    UNIT_COUNT},
    [LIMIT_DISK] = {"disk",
                    "everything the session has written",
                    "the size of the session's tmpfs",
                    {[PROFILE_NOTEBOOK] = {LIMITS_SHARE, 8 * GIB}, [PROFILE_STRICT] = {100 * MIB, GIB}},
                    UNIT_BYTES,
                    .of_session = true},
    [LIMIT_FILES] = {"files",
                     "number of files the session has written",
                     "the inodes of the session's tmpfs",
                     {[PROFILE_NOTEBOOK] = {65536, 1 << 20}, [PROFILE_STRICT] = {4096, 65536}},
                     UNIT_COUNT,
                     .of_session = true},
    [LIMIT_OUTPUT] = {"output",
                      "standard output and standard error of a cell together",
                      "the kernel, which drops the rest",
                      {[PROFILE_NOTEBOOK] = {8 * MIB, 256 * MIB}, [PROFILE_STRICT] = {MIB, 16 * MIB}},
                      UNIT_BYTES},
    [LIMIT_DISPLAY] = {"display",
                       "one rich output",
                       "the kernel, which shows a text instead",
                       {[PROFILE_NOTEBOOK] = {16 * MIB, 256 * MIB}, [PROFILE_STRICT] = {5 * MIB, 64 * MIB}},
                       UNIT_BYTES},
    [LIMIT_DISPLAYS] = {"displays",
                        "rich outputs of a cell",
                        "the kernel, which drops the rest",
                        {[PROFILE_NOTEBOOK] = {1000, 100000}, [PROFILE_STRICT] = {100, 1000}},
                        UNIT_COUNT},
    [LIMIT_ARTIFACT] = {"artifact",
                        "one file copied out",
                        "the kernel, which does not copy it",
                        {[PROFILE_NOTEBOOK] = {GIB, 4 * GIB}, [PROFILE_STRICT] = {5 * MIB, GIB}},
                        UNIT_BYTES},
    [LIMIT_ARTIFACTS] = {"artifacts",
                         "all the files of a cell that are copied out",
                         "the kernel, which does not copy the rest",
                         {[PROFILE_NOTEBOOK] = {4 * GIB, 8 * GIB}, [PROFILE_STRICT] = {5 * MIB, GIB}},
                         UNIT_BYTES},
    [LIMIT_CODE] = {"code",
                    "source of a cell",
                    "the kernel, which does not run it",
                    {[PROFILE_NOTEBOOK] = {MIB, MIB}, [PROFILE_STRICT] = {256 * KIB, 256 * KIB}},
                    UNIT_BYTES,
                    .of_session = true},
    [LIMIT_HISTORY] = {"history",
                       "states of the session that it can go back to",
                       "the kernel, which forgets the oldest",
                       {[PROFILE_NOTEBOOK] = {50, 1000}, [PROFILE_STRICT] = {10, 100}},
                       UNIT_COUNT},
    [LIMIT_HISTORY_MEMORY] = {"history_memory",
                              "what these states hold that the present one does not",
                              "the kernel, which measures it and forgets the oldest",
                              {[PROFILE_NOTEBOOK] = {2 * GIB, OF_THE_MACHINE}, [PROFILE_STRICT] = {256 * MIB, GIB}},
                              UNIT_BYTES},
    [LIMIT_RUNS] = {"runs",
                    "cells of a task",
                    "the kernel, which counts them",
                    {[PROFILE_NOTEBOOK] = {LIMITS_NONE, LIMITS_NONE}, [PROFILE_STRICT] = {LIMITS_NONE, LIMITS_NONE}},
                    UNIT_COUNT,
                    .tightens = true},
    [LIMIT_BUDGET] = {"budget",
                      "wall clock of a task's cells together",
                      "the kernel, which does not run the next one",
                      {[PROFILE_NOTEBOOK] = {LIMITS_NONE, LIMITS_NONE}, [PROFILE_STRICT] = {LIMITS_NONE, LIMITS_NONE}},
                      UNIT_MS,
                      .tightens = true},
    [LIMIT_TASK_ARTIFACTS] =
        {"task_artifacts",
         "all the files of a task's cells that are copied out",
         "the kernel, which does not run the next one",
         {[PROFILE_NOTEBOOK] = {LIMITS_NONE, LIMITS_NONE}, [PROFILE_STRICT] = {LIMITS_NONE, LIMITS_NONE}},
         UNIT_BYTES,
         .tightens = true},
};

static const char *const profile_names[] = {[PROFILE_NOTEBOOK] = "notebook", [PROFILE_STRICT] = "strict"};
_Static_assert(sizeof profile_names / sizeof profile_names[0] == PROFILE_N, "one name a profile");

const char *profile_name(enum profile_kind kind) {
    return profile_names[kind];
}

int profile_from_name(const char *name, enum profile_kind *ret_kind) {
    for (int i = 0; i < PROFILE_N; i++) {
        if (strcmp(name, profile_names[i]) == 0) {
            *ret_kind = (enum profile_kind)i;
            return 0;
        }
    }
    return -EINVAL;
}

bool profile_is_name(const char *text) {
    const size_t n = strlen(text);
    return n > 0 && n < PROFILE_NAME_BYTES && text[0] >= 'a' && text[0] <= 'z' &&
           strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

void profile_of_kind(enum profile_kind kind, struct profile *ret_profile) {
    snprintf(ret_profile->name, sizeof ret_profile->name, "%s", profile_names[kind]);
    ret_profile->kind = kind;
    for (int i = 0; i < LIMIT_N; i++)
        ret_profile->ceilings[i] = limit_rows[i].of[kind].ceiling;
}

static int64_t lesser(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Rounds bytes to a number that is easy to read, but not below least. */
static int64_t rounded(int64_t bytes, int64_t least) {
    const int64_t step = 256 * MIB;
    return bytes / step * step > least ? bytes / step * step : least;
}

/*
 * A session's default share of the machine: half of the memory, or less where
 * other processes use much of it, and a part of it for files, which are in memory
 * too.
 */
static int64_t share_of_machine(enum limit limit) {
    const struct machine_memory has = machine_memory("");
    const int64_t memory = rounded(lesser(has.total / 2, has.available / 4 * 3), 2 * GIB);
    return limit == LIMIT_DISK ? rounded(memory / 4, 512 * MIB) : memory;
}

void limits_defaults(enum profile_kind kind, struct limits *ret_limits) {
    struct profile profile;
    profile_of_kind(kind, &profile);
    for (int i = 0; i < LIMIT_N; i++) {
        const int64_t normal = limit_rows[i].of[kind].normal;
        ret_limits->values[i] = lesser(normal == LIMITS_SHARE ? share_of_machine((enum limit)i) : normal,
                                       limits_ceiling(&profile, (enum limit)i));
    }
}

/* Three quarters of the memory, half of it for states that are kept, all of the processors. */
static int64_t machine_has(enum limit limit) {
    if (limit == LIMIT_MEMORY)
        return machine_memory("").total / 4 * 3 / MIB * MIB;
    if (limit == LIMIT_HISTORY_MEMORY)
        return machine_memory("").total / 2 / MIB * MIB;
    if (limit == LIMIT_CPUS)
        return sysconf(_SC_NPROCESSORS_ONLN);
    return INT64_MAX;
}

int64_t limits_ceiling(const struct profile *profile, enum limit limit) {
    int64_t ceiling = profile->ceilings[limit];
    int64_t machine = machine_has(limit);
    return ceiling < machine ? ceiling : machine;
}

void limits_resolve(struct limits *limits) {
    int64_t *values = limits->values;
    if (values[LIMIT_CPU] == FOLLOWS)
        values[LIMIT_CPU] = values[LIMIT_TIMEOUT] * values[LIMIT_CPUS];
}

/* The most that one introspection may use of each limit, in the limit's unit. */
static const struct {
    enum limit limit;
    int64_t most;
    bool together; /* all that run at once share the limit */
} beside[] = {
    {LIMIT_TIMEOUT, 10 * SECOND, false}, {LIMIT_CPU, 10 * SECOND, false}, {LIMIT_MEMORY, 256 * MIB, true},
    {LIMIT_PROCESSES, 64, true},         {LIMIT_CPUS, 1, false},
};

int limits_beside(const struct limits *in_force, int at_most, struct limits *ret_limits) {
    struct limits limits = *in_force;
    limits_resolve(&limits);
    int at_once = (int)lesser(limits.values[LIMIT_CPUS], at_most);
    for (size_t i = 0; i < sizeof beside / sizeof beside[0]; i++) {
        int64_t *value = &limits.values[beside[i].limit];
        int64_t share = beside[i].together ? *value / at_once : *value;
        *value = lesser(share > 0 ? share : 1, beside[i].most);
    }
    *ret_limits = limits;
    return at_once;
}

static const char *const unit_suffixes[] = {[UNIT_COUNT] = "", [UNIT_MS] = "_ms", [UNIT_BYTES] = "_bytes"};

const char *limits_key(enum limit limit, char *buf, size_t size) {
    snprintf(buf, size, "%s%s", limit_rows[limit].name, unit_suffixes[limit_rows[limit].unit]);
    return buf;
}

json_t *limits_json(const struct limits *limits) {
    json_t *json = json_object();
    char key[48];
    for (int i = 0; i < LIMIT_N; i++)
        if (limits->values[i] != LIMITS_NONE)
            json_object_set_new(json, limits_key((enum limit)i, key, sizeof key), json_integer(limits->values[i]));
    return json;
}

/* The largest unit in which a value is a whole number. */
static const struct {
    enum limit_unit unit;
    int64_t one;
    const char *suffix;
} scales[] = {
    {UNIT_MS, SECOND, " s"},   {UNIT_MS, 1, " ms"},       {UNIT_BYTES, GIB, " GiB"}, {UNIT_BYTES, MIB, " MiB"},
    {UNIT_BYTES, KIB, " KiB"}, {UNIT_BYTES, 1, " bytes"}, {UNIT_COUNT, 1, ""},
};

const char *limits_text(enum limit_unit unit, int64_t value, char *buf, size_t size) {
    if (value == LIMITS_NONE)
        snprintf(buf, size, "none");
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        if (value != LIMITS_NONE && scales[i].unit == unit && value % scales[i].one == 0 &&
            (value != 0 || scales[i].one == 1)) {
            snprintf(buf, size, "%" PRId64 "%s", value / scales[i].one, scales[i].suffix);
            break;
        }
    }
    return buf;
}

const char *limits_written(enum limit_unit unit, int64_t value, char *buf, size_t size) {
    static const struct {
        enum limit_unit unit;
        int64_t one;
        const char *suffix;
    } forms[] = {
        {UNIT_MS, HOUR, "h"},   {UNIT_MS, MINUTE, "m"}, {UNIT_MS, SECOND, "s"},
        {UNIT_MS, 1, "ms"},     {UNIT_BYTES, GIB, "G"}, {UNIT_BYTES, MIB, "M"},
        {UNIT_BYTES, KIB, "K"}, {UNIT_BYTES, 1, "B"},   {UNIT_COUNT, 1, ""},
    };
    size_t i = 0;
    while (forms[i].unit != unit || value % forms[i].one != 0)
        i++;
    snprintf(buf, size, "%" PRId64 "%s", value / forms[i].one, forms[i].suffix);
    return buf;
}

const char *limits_more(const struct profile *profile, enum limit limit, int64_t value, char *buf, size_t size) {
    const struct limit_row *row = &limit_rows[limit];
    const int64_t ceiling = limits_ceiling(profile, limit);
    const int64_t twice = value < ceiling / 2 ? 2 * value : ceiling;
    char asked[32], most[32];
    buf[0] = '\0';
    if (value >= ceiling)
        return buf;
    const int64_t ask = twice == LIMITS_NONE ? value : twice; /* a value so great has no double */
    limits_written(row->unit, ask, asked, sizeof asked);
    if (ceiling == LIMITS_NONE)
        snprintf(buf, size, "%%%%limits %s=%s", row->name, asked);
    else if (twice == ceiling)
        snprintf(buf, size, "%%%%limits %s=%s, the most that there is", row->name, asked);
    else
        snprintf(buf, size, "%%%%limits %s=%s, or more up to %s", row->name, asked,
                 limits_written(row->unit, ceiling, most, sizeof most));
    return buf;
}
