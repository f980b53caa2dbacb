#include "limits.h"

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
#define OF_THE_MACHINE INT64_MAX /* as a ceiling: what this machine has to give */
#define FOLLOWS INT64_C(0)       /* as a default: limits_settle() works it out */

const struct limit_row limit_rows[LIMIT_N] = {
    [LIMIT_TIMEOUT] = {"timeout",
                       UNIT_MS,
                       {[PROFILE_NOTEBOOK] = {120 * SECOND, HOUR}, [PROFILE_STRICT] = {5 * SECOND, MINUTE}},
                       "wall clock of a cell; stands still while input() waits"},
    [LIMIT_CPU] = {"cpu",
                   UNIT_MS,
                   {[PROFILE_NOTEBOOK] = {FOLLOWS, INT64_MAX}, [PROFILE_STRICT] = {5 * SECOND, MINUTE}},
                   "CPU time of all the cell's processes"},
    [LIMIT_MEMORY] = {"memory",
                      UNIT_BYTES,
                      {[PROFILE_NOTEBOOK] = {2 * GIB, OF_THE_MACHINE}, [PROFILE_STRICT] = {256 * MIB, GIB}},
                      "what the cell's processes hold"},
    [LIMIT_PROCESSES] = {"processes",
                         UNIT_COUNT,
                         {[PROFILE_NOTEBOOK] = {256, 4096}, [PROFILE_STRICT] = {64, 256}},
                         "tasks at once"},
    [LIMIT_CPUS] = {"cpus",
                    UNIT_COUNT,
                    {[PROFILE_NOTEBOOK] = {2, OF_THE_MACHINE}, [PROFILE_STRICT] = {1, 2}},
                    "processors that a cell uses at once"},
    [LIMIT_DISK] = {"disk",
                    UNIT_BYTES,
                    {[PROFILE_NOTEBOOK] = {512 * MIB, 8 * GIB}, [PROFILE_STRICT] = {100 * MIB, GIB}},
                    "everything the session has written",
                    .of_session = true},
    [LIMIT_FILES] = {"files",
                     UNIT_COUNT,
                     {[PROFILE_NOTEBOOK] = {65536, 1 << 20}, [PROFILE_STRICT] = {4096, 65536}},
                     "number of files the session has written",
                     .of_session = true},
    [LIMIT_CODE] = {"code",
                    UNIT_BYTES,
                    {[PROFILE_NOTEBOOK] = {MIB, MIB}, [PROFILE_STRICT] = {256 * KIB, 256 * KIB}},
                    "source of a cell",
                    .of_session = true},
};

static const char *const profile_names[] = {[PROFILE_NOTEBOOK] = "notebook", [PROFILE_STRICT] = "strict"};
_Static_assert(sizeof profile_names / sizeof profile_names[0] == PROFILE_N, "one name a profile");

const char *profile_name(enum profile profile) {
    return profile_names[profile];
}

int profile_from_name(const char *name, enum profile *ret_profile) {
    for (int i = 0; i < PROFILE_N; i++) {
        if (strcmp(name, profile_names[i]) == 0) {
            *ret_profile = (enum profile)i;
            return 0;
        }
    }
    return -EINVAL;
}

void limits_defaults(enum profile profile, struct limits *ret_limits) {
    for (int i = 0; i < LIMIT_N; i++) {
        int64_t ceiling = limits_ceiling(profile, (enum limit)i);
        int64_t normal = limit_rows[i].of[profile].normal;
        ret_limits->values[i] = normal < ceiling ? normal : ceiling;
    }
}

/* Three quarters of the memory, all of the processors. */
static int64_t machine_has(enum limit limit) {
    if (limit == LIMIT_MEMORY)
        return (int64_t)sysconf(_SC_PHYS_PAGES) / 4 * 3 * sysconf(_SC_PAGESIZE);
    if (limit == LIMIT_CPUS)
        return sysconf(_SC_NPROCESSORS_ONLN);
    return INT64_MAX;
}

int64_t limits_ceiling(enum profile profile, enum limit limit) {
    int64_t ceiling = limit_rows[limit].of[profile].ceiling;
    int64_t machine = machine_has(limit);
    return ceiling < machine ? ceiling : machine;
}

void limits_settle(struct limits *limits) {
    int64_t *values = limits->values;
    if (values[LIMIT_CPU] == FOLLOWS)
        values[LIMIT_CPU] = values[LIMIT_TIMEOUT] * values[LIMIT_CPUS];
}

static const char *const unit_suffixes[] = {[UNIT_COUNT] = "", [UNIT_MS] = "_ms", [UNIT_BYTES] = "_bytes"};

json_t *limits_json(const struct limits *limits) {
    json_t *json = json_object();
    for (int i = 0; i < LIMIT_N; i++) {
        char key[48];
        snprintf(key, sizeof key, "%s%s", limit_rows[i].name, unit_suffixes[limit_rows[i].unit]);
        json_object_set_new(json, key, json_integer(limits->values[i]));
    }
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
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        if (scales[i].unit == unit && value % scales[i].one == 0 && (value != 0 || scales[i].one == 1)) {
            snprintf(buf, size, "%" PRId64 "%s", value / scales[i].one, scales[i].suffix);
            break;
        }
    }
    return buf;
}
