/*
 * config_schema.c - the configuration file as a JSON Schema, for editors: made of the rows of config_keys.c.
 *
 * Keys and kinds are the same as the parser's. Some things only the parser
 * checks: what check() requires beyond its form, and ceilings that have a unit or
 * depend on the machine.
 *
 * See: JSON Schema, draft 2020-12.
 */

#include "kernel/policy/config_keys.h"

static const char duration_form[] = "^0*[1-9][0-9]* *(ms|s|m|h)$";
static const char name_form[] = "^[a-z][a-z0-9_-]{0,30}$";
static const char own_name_form[] = "^(?!(notebook|strict)$)[a-z][a-z0-9_-]{0,30}$";
static const char size_form[] = "^0*[1-9][0-9]* *([KMG](i?B)?|B)?$";

static json_t *of_type(const char *type) {
    return json_pack("{s:s}", "type", type);
}

static json_t *text_schema(const char *form) {
    json_t *schema = of_type("string");
    if (form)
        json_object_set_new(schema, "pattern", json_string(form));
    return schema;
}

/* A number in the limit's own unit, or a text with a unit. */
static json_t *amount_schema(enum limit_unit unit) {
    json_t *number = json_pack("{s:s, s:i}", "type", "integer", "minimum", 1);
    if (unit == UNIT_COUNT)
        return number;
    return json_pack("{s:[o, o]}", "anyOf", number, text_schema(unit == UNIT_MS ? duration_form : size_form));
}

static json_t *limit_schema(enum limit limit) {
    json_t *schema = amount_schema(limit_rows[limit].unit);
    json_object_set_new(schema, "description", json_string(limit_rows[limit].help));
    return schema;
}

/* Steals properties. */
static json_t *object_schema(json_t *properties) {
    return json_pack("{s:s, s:b, s:o}", "type", "object", "additionalProperties", 0, "properties", properties);
}

static json_t *limits_schema(void) {
    json_t *limits = json_object();
    for (int limit = 0; limit < LIMIT_N; limit++)
        json_object_set_new(limits, limit_rows[limit].name, limit_schema((enum limit)limit));
    return limits;
}

/* The table's ceilings, for a profile that sets none. A schema can only state those of numbers; ceilings that have a
 * unit or depend on the machine are left out. */
static json_t *maxima_schema(enum profile_kind kind) {
    json_t *maxima = json_object();
    for (int i = 0; i < LIMIT_N; i++) {
        const int64_t ceiling = limit_rows[i].of[kind].ceiling;
        if (limit_rows[i].unit == UNIT_COUNT && ceiling != LIMITS_NONE)
            json_object_set_new(maxima, limit_rows[i].name, json_pack("{s:I}", "maximum", (json_int_t)ceiling));
    }
    return maxima;
}

/* What each profile may have. */
static json_t *profile_properties(void) {
    json_t *properties = limits_schema();
    json_object_set_new(properties, "ceilings", object_schema(limits_schema()));
    return properties;
}

/* One of the table's. */
static json_t *profile_schema(enum profile_kind kind) {
    json_t *schema = object_schema(profile_properties());
    json_object_set_new(schema, "anyOf",
                        json_pack("[{s:[s]}, {s:o}]", "required", "ceilings", "properties", maxima_schema(kind)));
    return schema;
}

/* One that is based on another. */
static json_t *own_profile_schema(void) {
    json_t *properties = profile_properties();
    json_object_set_new(properties, "based_on", text_schema(name_form));
    json_t *schema = object_schema(properties);
    json_object_set_new(schema, "required", json_pack("[s]", "based_on"));
    return schema;
}

static json_t *profiles_schema(void) {
    json_t *profiles = json_object();
    for (int kind = 0; kind < PROFILE_N; kind++)
        json_object_set_new(profiles, profile_name((enum profile_kind)kind), profile_schema((enum profile_kind)kind));
    json_t *schema = object_schema(profiles);
    json_object_set_new(schema, "patternProperties", json_pack("{s:o}", own_name_form, own_profile_schema()));
    return schema;
}

/* true, or names of the file's keys. */
static json_t *locked_schema(void) {
    json_t *names = json_array();
    for (size_t i = 0; i < config_root.n_members; i++)
        if (config_is_key(config_root.members[i].name))
            json_array_append_new(names, json_string(config_root.members[i].name));
    return json_pack("{s:[{s:b}, {s:s, s:{s:o}}]}", "anyOf", "const", 1, "type", "array", "items", "enum", names);
}

/* Names, each with a text or true. */
static json_t *variables_schema(const struct config_key *key) {
    json_t *schema = object_schema(json_object());
    json_object_set_new(schema, "patternProperties",
                        json_pack("{s:{s:[{s:s}, {s:b}]}}", key->form, "anyOf", "type", "string", "const", 1));
    return schema;
}

static json_t *key_schema(const struct config_key *key);

static json_t *members_schema(const struct config_key *key) {
    json_t *properties = json_object();
    for (size_t i = 0; i < key->n_members; i++)
        json_object_set_new(properties, key->members[i].name, key_schema(&key->members[i]));
    return object_schema(properties);
}

static json_t *value_schema(const struct config_key *key) {
    switch (key->kind) {
    case CONFIG_BOOL:
        return of_type("boolean");
    case CONFIG_TEXT:
        return text_schema(key->form);
    case CONFIG_DURATION:
        return text_schema(duration_form);
    case CONFIG_SIZE:
        return amount_schema(UNIT_BYTES);
    case CONFIG_COUNT:
        return amount_schema(UNIT_COUNT);
    case CONFIG_TEXTS:
        return json_pack("{s:s, s:o}", "type", "array", "items", text_schema(key->form));
    case CONFIG_OBJECT:
        return members_schema(key);
    case CONFIG_PROFILES:
        return profiles_schema();
    case CONFIG_VARIABLES:
        return variables_schema(key);
    case CONFIG_LOCKED:
        return locked_schema();
    case CONFIG_KIND_N:
        break;
    }
    return NULL;
}

static json_t *key_schema(const struct config_key *key) {
    json_t *schema = value_schema(key);
    if (key->or_false)
        schema = json_pack("{s:[o, {s:b}]}", "anyOf", schema, "const", 0);
    if (key->help[0])
        json_object_set_new(schema, "description", json_string(key->help));
    return schema;
}

json_t *config_schema(void) {
    json_t *schema = json_pack("{s:s, s:s}", "$schema", "https://json-schema.org/draft/2020-12/schema", "title",
                               "The configuration of petri");
    json_auto_t *root = key_schema(&config_root);
    if (schema && root)
        json_object_update(schema, root);
    return schema;
}
