/*
 * config_profiles.c - profiles of the configuration: those of the table with other limits, and those based on others.
 *
 * A profile is what it is based on, then its "ceilings", then its limits, which
 * may not be over them. A default that nobody has chosen is lowered with its
 * ceiling. A file's profiles are a layer over those of the operator's file, and these
 * over the table: a name that the layer below has is that profile, with changes.
 * A ceiling that the operator's file sets is a bound for the user's: it may be lowered
 * there, and not raised, also in a profile based on that one.
 *
 * All profiles are read, so that a file is right or wrong whatever profile is
 * asked for. What is wrong in a profile is told when the profile itself is read,
 * and not again for each that is based on it.
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
    struct limits bounds; /* of limits and ceilings: what the operator's file says, else LIMITS_NONE */
    bool is_operators;    /* whether what is read now is of that file, which its bounds don't bind */
};

/* The profiles of one file, over those of another, or of the table where under is NULL. */
struct layer {
    const json_t *profiles; /* NULL for none */
    const struct layer *under;
    bool is_operators;
};

static bool has_profile(const struct layer *layer, const char *name) {
    enum profile_kind kind;
    if (!layer)
        return profile_from_name(name, &kind) == 0;
    return json_object_get(layer->profiles, name) || has_profile(layer->under, name);
}

static void lower_to_ceilings(struct resolved *resolved) {
    for (int i = 0; i < LIMIT_N; i++) {
        const int64_t ceiling = limits_ceiling(&resolved->profile, (enum limit)i);
        if (resolved->limits.values[i] > ceiling)
            resolved->limits.values[i] = ceiling;
    }
}

/* What an operator may set a ceiling to: anything that the machine has. */
static void unbounded(const struct profile *like, struct profile *ret_profile) {
    *ret_profile = *like;
    for (int i = 0; i < LIMIT_N; i++)
        ret_profile->ceilings[i] = LIMITS_NONE;
}

/* Whether a limit or a ceiling stays within the operator's bounds. 0, also where it can't be read; or -EINVAL. */
static int check_bounds(const struct config_reading *reading, const struct resolved *resolved, const json_t *one) {
    struct error ignored;
    struct profile any;
    struct limits asked = {0};
    char text[32], most[32];
    unbounded(&resolved->profile, &any);
    const struct limits_change change = {&any, ASKER_SESSION, &ignored};
    if (limits_change_json(&change, &asked, one) < 0)
        return 0;
    for (int i = 0; i < LIMIT_N; i++)
        if (asked.values[i] > resolved->bounds.values[i])
            return config_refuse(reading,
                                 ": \"%s\": %s %s is over the ceiling of %s that " CONFIG_POLICY_PATH
                                 " sets for every user of this machine",
                                 resolved->profile.name, limit_rows[i].name,
                                 limits_text(limit_rows[i].unit, asked.values[i], text, sizeof text),
                                 limits_text(limit_rows[i].unit, resolved->bounds.values[i], most, sizeof most));
    return 0;
}

/* One limit of an object, given to limits under the ceilings of profile; resolved is the one that the object is in. */
static int read_limit(const struct config_reading *reading, const struct resolved *resolved,
                      const struct profile *profile, const json_t *one, struct limits *limits) {
    struct error cause;
    const struct limits_change change = {profile, ASKER_SESSION, &cause};
    if (!one)
        return config_refuse(reading, ": there is no memory");
    const char *name = json_object_iter_key(json_object_iter((json_t *)one));
    const struct config_reading inner = config_reading_of(reading, name);
    int r = resolved->is_operators ? 0 : check_bounds(&inner, resolved, one);
    if (r == 0 && limits_change_json(&change, limits, one) < 0)
        r = config_refuse(&inner, ": \"%s\": %s", profile->name, cause.text);
    return r;
}

/* The ceilings that an object of the operator's sets become bounds. */
static void bind(struct resolved *resolved, const json_t *json, const struct limits *ceilings) {
    for (int i = 0; i < LIMIT_N; i++)
        if (json_object_get(json, limit_rows[i].name))
            resolved->bounds.values[i] = ceilings->values[i];
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
        json_auto_t *one = json_pack("{s:O}", name, value);
        if (read_limit(&inner, resolved, &any, one, &ceilings) < 0)
            r = -EINVAL;
    }
    if (resolved->is_operators)
        bind(resolved, json, &ceilings);
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
        json_auto_t *one = json_pack("{s:O}", name, value);
        if (read_limit(reading, resolved, &resolved->profile, one, &resolved->limits) < 0)
            r = -EINVAL;
    }
    return r;
}

/* Appends ", exam, quiz": those of the layers that the table does not have, each once. */
static void list_profiles(const struct layer *layer, char *buf, size_t size) {
    const char *name;
    json_t *profile;
    if (!layer)
        return;
    json_object_foreach((json_t *)layer->profiles, name, profile) {
        const size_t n = strlen(buf);
        if (!has_profile(layer->under, name))
            snprintf(buf + n, size - n, ", %.31s", name);
    }
    list_profiles(layer->under, buf, size);
}

/* There is no such profile: says which there are. */
static int refuse_name(const struct config_reading *reading, const struct layer *layer, const char *name) {
    struct config_reading plain = *reading;
    char names[256] = "notebook, strict";
    list_profiles(layer, names, sizeof names);
    plain.path[0] = '\0';
    return config_refuse(&plain, "there is no profile %.40s; there are %s", name, names);
}

static int resolve(const struct config_reading *reading, const struct layer *layer, const char *name, int depth,
                   struct resolved *ret);

/* A profile of the layer below, which this one may change, but not base on another. */
static int read_below(const struct config_reading *reading, const struct layer *layer, const char *name,
                      struct resolved *ret) {
    struct config_reading silent = *reading;
    enum profile_kind kind;
    silent.wrongs = NULL;
    if (!json_object_get(json_object_get(layer->profiles, name), "based_on"))
        return resolve(&silent, layer->under, name, 0, ret);
    if (profile_from_name(name, &kind) == 0)
        return config_refuse(reading, ": \"%s\" is based on nothing", name);
    return config_refuse(reading, ": \"%s\" is a profile of " CONFIG_POLICY_PATH ", which says what it is based on",
                         name);
}

/* What a profile begins with: the one of the layer below, or the one that it is based on. -ELOOP where that has no end.
 */
static int read_base(const struct config_reading *reading, const struct layer *layer, const char *name, int depth,
                     struct resolved *ret) {
    const json_t *base = json_object_get(json_object_get(layer->profiles, name), "based_on");
    if (has_profile(layer->under, name))
        return read_below(reading, layer, name, ret);
    if (!profile_is_name(name))
        return config_refuse(reading, ": \"%.40s\" is no name of a profile (letters a to z, digits, - and _)", name);
    if (!json_is_string(base))
        return config_refuse(reading, ": \"%.40s\" needs \"based_on\": \"notebook\", \"strict\" or another profile",
                             name);
    int r = depth == DEPTH_MAX ? -ELOOP : resolve(reading, layer, json_string_value(base), depth + 1, ret);
    if (r == -ELOOP && depth == 0)
        return config_refuse(reading, ": \"%.40s\" is based on itself, or on too many others", name);
    snprintf(ret->profile.name, sizeof ret->profile.name, "%s", name);
    return r;
}

static void read_table(const char *name, struct resolved *ret) {
    enum profile_kind kind = PROFILE_NOTEBOOK;
    int r = profile_from_name(name, &kind);
    (void)r; /* has_profile() has asked */
    profile_of_kind(kind, &ret->profile);
    limits_defaults(kind, &ret->limits);
    for (int i = 0; i < LIMIT_N; i++)
        ret->bounds.values[i] = LIMITS_NONE;
}

/* Reads a profile of a layer, or of one below it; depth: how many are based on it, in a row. 0, -EINVAL or -ELOOP. */
static int resolve(const struct config_reading *reading, const struct layer *layer, const char *name, int depth,
                   struct resolved *ret) {
    struct config_reading inner = config_reading_of(reading, name);
    if (!has_profile(layer, name))
        return refuse_name(reading, layer, name);
    if (!layer) {
        read_table(name, ret);
        return 0;
    }
    if (depth > 0)
        inner.wrongs = NULL;
    const json_t *json = json_object_get(layer->profiles, name);
    int r = read_base(&inner, layer, name, depth, ret);
    if (r < 0 || !json)
        return r;
    if (!json_is_object(json))
        return config_refuse(&inner, ": \"%.40s\" has to be an object of limits", name);
    ret->is_operators = layer->is_operators;
    r = read_ceilings(&inner, json_object_get(json, "ceilings"), ret);
    return read_limits(&inner, json, ret) < 0 ? -EINVAL : r;
}

/* Reads one profile; the one that is asked for becomes the configuration's. */
static int read_profile(const struct config_reading *reading, const struct layer *layer, const char *name) {
    struct resolved resolved;
    const char *asked = reading->source->profile;
    int r = resolve(reading, layer, name, 0, &resolved);
    if (r == 0 && asked && strcmp(name, asked) == 0) {
        reading->config->profile = resolved.profile;
        reading->config->limits = resolved.limits;
    }
    return r;
}

int config_read_profiles(const struct config_reading *reading, const json_t *json) {
    const struct config_source *source = reading->source;
    const struct layer policy = {json_object_get(source->policy, "profiles"), NULL, true};
    const struct layer layer = {json, source->policy ? &policy : NULL, source->is_policy};
    const char *name;
    json_t *profile;
    int r = 0;
    json_object_foreach((json_t *)json, name, profile) {
        if (read_profile(reading, &layer, name) < 0)
            r = -EINVAL;
    }
    if (source->profile && !json_object_get(json, source->profile) &&
        read_profile(reading, &layer, source->profile) < 0)
        r = -EINVAL;
    return r;
}
