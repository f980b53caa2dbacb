/*
 * config_profiles.c - profiles of the configuration: those of the table with other limits, and those based on others.
 *
 * A profile is what it is based on, then its "ceilings", then its limits, which
 * may not be over them. A default that nobody has chosen is lowered with its
 * ceiling. All profiles are read, so that a file is right or wrong whatever
 * profile is asked for.
 */

#include "config_reading.h"

#include "kernel/policy/limits_change.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 8 }; /* profiles that one is based on, in a row */

/* A profile with the defaults of its limits. */
struct resolved {
    struct profile profile;
    struct limits limits;
};

static void lower_to_ceilings(struct resolved *resolved) {
    for (int i = 0; i < LIMIT_N; i++) {
        const int64_t ceiling = limits_ceiling(&resolved->profile, (enum limit)i);
        if (resolved->limits.values[i] > ceiling)
            resolved->limits.values[i] = ceiling;
    }
}

/* One limit of an object, given to limits under a profile's ceilings. */
static int read_limit(const struct config_reading *reading, const struct profile *profile, const char *name,
                      const json_t *value, struct limits *limits) {
    struct error cause;
    json_auto_t *one = json_pack("{s:O}", name, value);
    const struct limits_change change = {profile, ASKER_SESSION, &cause};
    const struct config_reading inner = config_reading_of(reading, name);
    return limits_change_json(&change, limits, one) < 0
               ? config_refuse(&inner, ": \"%s\": %s", profile->name, cause.text)
               : 0;
}

/* What an operator may set a ceiling to: anything that the machine has. */
static void unbounded(const struct profile *like, struct profile *ret_profile) {
    *ret_profile = *like;
    for (int i = 0; i < LIMIT_N; i++)
        ret_profile->ceilings[i] = LIMITS_NONE;
}

static int read_ceilings(const struct config_reading *reading, const json_t *json, struct resolved *resolved) {
    const struct config_reading inner = config_reading_of(reading, "ceilings");
    struct profile any;
    struct limits ceilings;
    const char *name;
    json_t *value;
    int r = 0;
    if (!json)
        return 0;
    if (!json_is_object(json))
        return config_refuse(&inner, ": \"ceilings\" has to be an object of limits");
    unbounded(&resolved->profile, &any);
    memcpy(ceilings.values, resolved->profile.ceilings, sizeof ceilings.values);
    json_object_foreach((json_t *)json, name, value) {
        if (read_limit(&inner, &any, name, value, &ceilings) < 0)
            r = -EINVAL;
    }
    memcpy(resolved->profile.ceilings, ceilings.values, sizeof ceilings.values);
    lower_to_ceilings(resolved);
    return r;
}

static int read_limits(const struct config_reading *reading, const json_t *json, struct resolved *resolved) {
    const char *name;
    json_t *value;
    int r = 0;
    json_object_foreach((json_t *)json, name, value) {
        if (strcmp(name, "ceilings") == 0 || strcmp(name, "based_on") == 0)
            continue;
        if (read_limit(reading, &resolved->profile, name, value, &resolved->limits) < 0)
            r = -EINVAL;
    }
    return r;
}

/* There is no such profile: says which there are. */
static int refuse_name(const struct config_reading *reading, const json_t *profiles, const char *name) {
    struct config_reading plain = *reading;
    char names[256] = "notebook, strict";
    size_t n = strlen(names);
    enum profile_kind kind;
    const char *own;
    json_t *profile;
    json_object_foreach((json_t *)profiles, own, profile) {
        if (n < sizeof names && profile_from_name(own, &kind) < 0)
            n += (size_t)snprintf(names + n, sizeof names - n, ", %.31s", own);
    }
    plain.path[0] = '\0';
    return config_refuse(&plain, "there is no profile %.40s; there are %s", name, names);
}

static int resolve(const struct config_reading *reading, const json_t *profiles, const char *name, int depth,
                   struct resolved *ret);

/* What a profile begins with: the table's, or the one that it is based on. */
static int read_base(const struct config_reading *reading, const json_t *profiles, const char *name, int depth,
                     struct resolved *ret) {
    const json_t *json = json_object_get(profiles, name);
    const json_t *base = json_object_get(json, "based_on");
    enum profile_kind kind;
    if (profile_from_name(name, &kind) == 0) {
        profile_of_kind(kind, &ret->profile);
        limits_defaults(kind, &ret->limits);
        return base ? config_refuse(reading, ": \"%s\" is based on nothing", name) : 0;
    }
    if (!profile_is_name(name))
        return config_refuse(reading, ": \"%.40s\" is no name of a profile (letters a to z, digits, - and _)", name);
    if (!json_is_string(base))
        return config_refuse(reading, ": \"%.40s\" needs \"based_on\": \"notebook\", \"strict\" or another profile",
                             name);
    if (depth == DEPTH_MAX)
        return config_refuse(reading, ": \"%.40s\" is based on itself, or on too many others", name);
    int r = resolve(reading, profiles, json_string_value(base), depth + 1, ret);
    snprintf(ret->profile.name, sizeof ret->profile.name, "%s", name);
    return r;
}

static int resolve(const struct config_reading *reading, const json_t *profiles, const char *name, int depth,
                   struct resolved *ret) {
    enum profile_kind kind;
    const json_t *json = json_object_get(profiles, name);
    const struct config_reading inner = config_reading_of(reading, name);
    if (!json && profile_from_name(name, &kind) < 0)
        return refuse_name(reading, profiles, name);
    int r = read_base(&inner, profiles, name, depth, ret);
    if (r < 0 || !json)
        return r;
    if (!json_is_object(json))
        return config_refuse(&inner, ": \"%.40s\" has to be an object of limits", name);
    r = read_ceilings(&inner, json_object_get(json, "ceilings"), ret);
    return read_limits(&inner, json, ret) < 0 ? -EINVAL : r;
}

/* Reads one profile; the one that is asked for becomes the configuration's. */
static int read_profile(const struct config_reading *reading, const json_t *profiles, const char *name) {
    struct resolved resolved;
    int r = resolve(reading, profiles, name, 0, &resolved);
    if (r == 0 && strcmp(name, reading->profile) == 0) {
        reading->config->profile = resolved.profile;
        reading->config->limits = resolved.limits;
    }
    return r;
}

int config_read_profiles(const struct config_reading *reading, const json_t *json) {
    const char *name;
    json_t *profile;
    int r = 0;
    json_object_foreach((json_t *)json, name, profile) {
        if (read_profile(reading, json, name) < 0)
            r = -EINVAL;
    }
    if (!json_object_get(json, reading->profile) && read_profile(reading, json, reading->profile) < 0)
        r = -EINVAL;
    return r;
}
