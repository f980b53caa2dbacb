/*
 * config_keys.c - the tables of keys, and the function that reads a file by them.
 *
 * A row says where its value is stored in struct config, so a new key is a new
 * row. Each member of an object in the file has to have a row, so unknown keys
 * are found. A key is stored over what an earlier file has set, unless that file is
 * the operator's and locks it.
 */

#include "config_keys.h"

#include "kernel/base/filename.h"
#include "kernel/base/pattern.h"
#include "kernel/policy/config_reading.h"
#include "kernel/policy/limits_change.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXTS_MAX = 1000 };

static int check_variable(const char *text, struct error *ret_error) {
    static const char *const ours[] = {"PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"};
    size_t n = 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    bool good = n > 0 && n < CONFIG_VARIABLE_BYTES && text[n] == '\0' && !isdigit((unsigned char)text[0]);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        good = good && strcmp(text, ours[i]) != 0;
    if (good && strncmp(text, "LD_", 3) != 0 && strncmp(text, "PETRI_", 6) != 0)
        return 0;
    return error_set(ret_error, EINVAL, "'%.60s' is no name that a variable of a cell may have", text);
}

static int check_absolute(const char *text, struct error *ret_error) {
    if (text[0] == '/' && text[1] != '\0' && strlen(text) < PATH_MAX)
        return 0;
    return error_set(ret_error, EINVAL, "'%.60s' is no absolute path", text);
}

static int check_input(const char *text, struct error *ret_error) {
    int r = check_absolute(text, ret_error);
    if (r == 0 && filename_below("/proc", text))
        r = error_set(ret_error, EINVAL, "'%.60s' is in /proc, which each cell has of its own", text);
    return r;
}

/* See: PyPA, "Names and normalization". */
static int check_distribution(const char *text, struct error *ret_error) {
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
    if (n > 0 && n < 200 && text[n] == '\0' && isalnum((unsigned char)text[0]) && isalnum((unsigned char)text[n - 1]))
        return 0;
    return error_set(ret_error, EINVAL, "'%.60s' is no name of a distribution", text);
}

static int check_module(const char *text, struct error *ret_error) {
    size_t n = strlen(text);
    bool good = n > 0 && n < 200 && text[0] != '.' && text[n - 1] != '.' && !isdigit((unsigned char)text[0]);
    for (size_t i = 0; i < n; i++)
        good = good && (isalnum((unsigned char)text[i]) || strchr("_.", text[i]) || (unsigned char)text[i] >= 0x80);
    if (good)
        return 0;
    return error_set(ret_error, EINVAL, "'%.60s' is no name of a module", text);
}

static int check_file_name(const char *text, struct error *ret_error) {
    if (text[0] != '\0' && text[0] != '.' && !strchr(text, '/'))
        return 0;
    return error_set(ret_error, EINVAL, "'%.60s' is no name of a folder beside the notebook", text);
}

static int check_name_pattern(const char *text, struct error *ret_error) {
    size_t n = strlen(text);
    if (n > 0 && n < 200 && text[0] != '/' && text[n - 1] != '/')
        return 0;
    return error_set(ret_error, EINVAL, "'%.60s' is no pattern of a name, or of a path below the folder", text);
}

#define AT(member) offsetof(struct config, member)
#define ROOM(member) sizeof(((struct config *)NULL)->member)
#define MEMBERS(rows) .members = (rows), .n_members = sizeof(rows) / sizeof(rows)[0]

static const struct config_key cache_keys[] = {
    {"ttl", "How long a result may be given again; without it never", CONFIG_DURATION, .at = AT(cache.ttl_ms)},
};

static const struct config_key kernels_keys[] = {
    {"memory",
     "The most that the cells of all kernels of one user may hold together, where Linux gives a control group",
     CONFIG_SIZE, .at = AT(kernels.memory_bytes), .is_bound = true},
    {"number", "How many kernels of one user may run at once", CONFIG_COUNT, .at = AT(kernels.number),
     .is_bound = true},
    {"processes", "How many processes and threads they may have together, where Linux gives a control group",
     CONFIG_COUNT, .at = AT(kernels.processes), .is_bound = true},
};

static const struct config_key records_keys[] = {
    {"keep_days", "Runs older than this are forgotten", CONFIG_COUNT, .at = AT(records.keep_days)},
    {"max_bytes", "Size of the database, beyond which the oldest runs are forgotten", CONFIG_SIZE,
     .at = AT(records.max_bytes)},
    {"path", "The SQLite file, absolute", CONFIG_TEXT, .at = AT(records.path), .room = ROOM(records.path),
     .check = check_absolute, .form = "^/."},
};

static const struct config_key refuse_keys[] = {
    {"imports", "Modules that code must not import, with all below them", CONFIG_TEXTS, .at = AT(refuse.imports),
     .check = check_module},
    {"patterns", "Regular expressions (PCRE2) that no line of the code may match", CONFIG_TEXTS,
     .at = AT(refuse.patterns), .check = pattern_check},
};

static const struct config_key writable_keys[] = {
    {"allow",
     "Names that are written although programs of the host look for them: patterns such as \"Makefile\" or \"*\"",
     CONFIG_TEXTS, .at = AT(writable.allow), .check = check_name_pattern, .form = "^[^/](.*[^/])?$"},
    {"on", "Whether it is so in every notebook, and not only with the kernel \"petri, writable\"", CONFIG_BOOL,
     .at = AT(writable.on)},
};

/* Sorted by name. */
static const struct config_key root_keys[] = {
    {"artifacts", "Folder beside the notebook that the files of cells are copied to, or false", CONFIG_TEXT,
     .at = AT(artifacts), .room = ROOM(artifacts), .or_false = true, .check = check_file_name, .form = "^[^./][^/]*$"},
    {"cache", "Whether runs from a fresh image may be answered with the result of an earlier one", CONFIG_OBJECT,
     MEMBERS(cache_keys)},
    {"environment", "Names of the environment variables that a request may set", CONFIG_TEXTS, .at = AT(environment),
     .check = check_variable, .form = "^[A-Za-z_][A-Za-z0-9_]*$"},
    {"history", "Whether the code of cells is kept for history_request", CONFIG_BOOL, .at = AT(history)},
    {"inputs", "More folders that cells can read", CONFIG_TEXTS, .at = AT(inputs), .check = check_input,
     .form = "^/(?!proc(/|$))."},
    {"interrupt_grace", "From an interrupt until a cell that does not listen is ended", CONFIG_DURATION,
     .at = AT(grace_ms)},
    {"kernels", "Bounds of all kernels of one user together", CONFIG_OBJECT, MEMBERS(kernels_keys)},
    {"locked", "Keys of this file that no other file may set, or true for all; counts in " CONFIG_POLICY_PATH " alone",
     CONFIG_LOCKED, .at = AT(locked)},
    {"packages", "The distributions that cells can see, and those that these require; without it all", CONFIG_TEXTS,
     .at = AT(packages), .check = check_distribution, .form = "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$"},
    {"profiles", "Limits of the profiles", CONFIG_PROFILES, .at = AT(limits)},
    {"records", "Where the run records are kept and for how long, or false", CONFIG_OBJECT, .at = AT(records.on),
     .or_false = true, MEMBERS(records_keys)},
    {"redact", "Regular expressions (PCRE2) of what is taken out before anything is stored", CONFIG_TEXTS,
     .at = AT(redact), .check = pattern_check},
    {"refuse", "What code is refused before it runs", CONFIG_OBJECT, MEMBERS(refuse_keys)},
    {"variables",
     "Environment variables of cells, which are kept out of the records: a text, or true to pass on petri's own "
     "(not in profile strict)",
     CONFIG_VARIABLES, .at = AT(variables), .check = check_variable, .form = "^[A-Za-z_][A-Za-z0-9_]*$"},
    {"writable", "Writing what cells change into the notebook's folder (profile notebook)", CONFIG_OBJECT,
     MEMBERS(writable_keys)},
};

const struct config_key config_root = {"", "", CONFIG_OBJECT, MEMBERS(root_keys)};

/* What a value of each kind has to be, for error messages. */
static const char *const kind_forms[] = {
    [CONFIG_BOOL] = "true or false",
    [CONFIG_TEXT] = "a text",
    [CONFIG_DURATION] = "a duration such as \"500ms\" or \"2s\"",
    [CONFIG_SIZE] = "a size such as \"512M\" or \"2G\"",
    [CONFIG_COUNT] = "a whole number above 0",
    [CONFIG_TEXTS] = "an array of texts",
    [CONFIG_OBJECT] = "an object",
    [CONFIG_PROFILES] = "an object of profiles",
    [CONFIG_VARIABLES] = "an object of variables",
    [CONFIG_LOCKED] = "true, or an array of keys of this file",
};
_Static_assert(sizeof kind_forms / sizeof kind_forms[0] == CONFIG_KIND_N, "one form a kind");

static int refuse_kind(const struct config_reading *reading, const struct config_key *key) {
    return config_refuse(reading, "has to be %s%s", kind_forms[key->kind], key->or_false ? ", or false" : "");
}

/* The same reading, of a member of the current object, with its name in the path. */
static struct config_reading reading_below(const struct config_reading *reading, const char *name) {
    struct config_reading inner = config_reading_of(reading, name);
    size_t n = strlen(inner.path);
    snprintf(inner.path + n, sizeof inner.path - n, "%s\"%.60s\"", n > 0 ? ", " : "", name);
    return inner;
}

static void *place(const struct config_reading *reading, const struct config_key *key) {
    return (char *)reading->config + key->at;
}

static int read_text_key(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    struct error cause;
    const char *text = json_string_value(json);
    if (!text || strlen(text) != json_string_length(json) || json_string_length(json) >= key->room)
        return refuse_kind(reading, key);
    if (key->check && key->check(text, &cause) < 0)
        return config_refuse(reading, ": %s", cause.text);
    snprintf(place(reading, key), key->room, "%s", text);
    return 0;
}

static int read_texts(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    struct error cause;
    size_t i;
    json_t *text;
    json_t **texts = place(reading, key);
    size_t most = key->check == pattern_check ? (size_t)PATTERN_MAX : (size_t)TEXTS_MAX;
    if (!json_is_array(json))
        return refuse_kind(reading, key);
    if (json_array_size(json) > most)
        return config_refuse(reading, "can't have more than %zu entries", most);
    json_array_foreach((json_t *)json, i, text) {
        const char *value = json_string_value(text);
        if (!value || strlen(value) != json_string_length(text))
            return refuse_kind(reading, key);
        if (key->check(value, &cause) < 0)
            return config_refuse(reading, ": %s", cause.text);
    }
    json_decref(*texts);
    *texts = json_incref((json_t *)json);
    return 0;
}

static int parse_number(const struct config_reading *reading, const struct config_key *key, const json_t *json,
                        int64_t *ret_number) {
    enum limit_unit unit = key->kind == CONFIG_DURATION ? UNIT_MS : UNIT_BYTES;
    if (key->kind != CONFIG_DURATION && json_is_integer(json) && json_integer_value(json) > 0) {
        *ret_number = json_integer_value(json);
        return 0;
    }
    if (key->kind != CONFIG_COUNT && json_is_string(json) &&
        limits_parse(unit, json_string_value(json), ret_number) == 0)
        return 0;
    return refuse_kind(reading, key);
}

static int read_number(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    int64_t *number = place(reading, key);
    const int64_t most = *number; /* while another file is read over the operator's: what that one has */
    int64_t asked = 0;
    char most_text[32];
    int r = parse_number(reading, key, json, &asked);
    if (r < 0)
        return r;
    if (key->is_bound && !reading->source->is_policy && most > 0 && asked > most)
        return config_refuse(
            reading, "is over the bound of %s that " CONFIG_POLICY_PATH " sets for every user of this machine",
            limits_text(key->kind == CONFIG_SIZE ? UNIT_BYTES : UNIT_COUNT, most, most_text, sizeof most_text));
    *number = asked;
    return 0;
}

bool config_is_key(const char *name) {
    for (size_t i = 0; i < config_root.n_members; i++)
        if (strcmp(root_keys[i].name, name) == 0)
            return root_keys[i].kind != CONFIG_LOCKED;
    return false;
}

bool config_locks(const struct config *config, const char *key) {
    bool locked = json_is_true(config->locked);
    for (size_t i = 0; i < json_array_size(config->locked); i++)
        locked = locked || strcmp(json_string_value(json_array_get(config->locked, i)), key) == 0;
    return locked;
}

static int read_locked(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    size_t i;
    json_t *name;
    json_t **locked = place(reading, key);
    if (!json_is_true(json) && !json_is_array(json))
        return refuse_kind(reading, key);
    json_array_foreach((json_t *)json, i, name) {
        if (!json_is_string(name))
            return refuse_kind(reading, key);
        if (!config_is_key(json_string_value(name)))
            return config_refuse(reading, ": '%.60s' is no key of this file", json_string_value(name));
    }
    if (reading->source->is_policy) {
        json_decref(*locked);
        *locked = json_incref((json_t *)json);
    }
    return 0;
}

/* The user's are read over the operator's, one by one. What is wrong is told without a value. */
static int read_variables(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    struct error cause;
    const char *name;
    json_t *value;
    json_t **variables = place(reading, key);
    int r = 0;
    if (!json_is_object(json))
        return refuse_kind(reading, key);
    json_auto_t *all = *variables ? json_copy(*variables) : json_object();
    json_object_foreach((json_t *)json, name, value) {
        const struct config_reading inner = reading_below(reading, name);
        const char *text = json_string_value(value);
        if (key->check(name, &cause) < 0)
            r = config_refuse(&inner, ": %s", cause.text);
        else if (!json_is_true(value) && (!text || strlen(text) != json_string_length(value)))
            r = config_refuse(&inner, "has to be a text, or true to pass on the variable that petri has");
        else
            json_object_set(all, name, value);
    }
    if (json_object_size(all) > CONFIG_VARIABLES_MAX)
        r = config_refuse(reading, "can't have more than %d variables", CONFIG_VARIABLES_MAX);
    json_decref(*variables);
    *variables = json_incref(all);
    return r;
}

/* `there are "history", "interrupt_grace" and "profiles"` */
static void list_names(const struct config_key *key, char *buf, size_t size) {
    size_t n = 0;
    for (size_t i = 0; i < key->n_members && n < size; i++) {
        const char *between = i == 0 ? "" : i + 1 == key->n_members ? " and " : ", ";
        n += (size_t)snprintf(buf + n, size - n, "%s\"%s\"", between, key->members[i].name);
    }
}

static int read_object(const struct config_reading *reading, const struct config_key *key, const json_t *json);

static int read_value(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    switch (key->kind) {
    case CONFIG_BOOL:
        if (!json_is_boolean(json))
            return refuse_kind(reading, key);
        *(bool *)place(reading, key) = json_is_true(json);
        return 0;
    case CONFIG_TEXT:
        return read_text_key(reading, key, json);
    case CONFIG_DURATION:
    case CONFIG_SIZE:
    case CONFIG_COUNT:
        return read_number(reading, key, json);
    case CONFIG_TEXTS:
        return read_texts(reading, key, json);
    case CONFIG_OBJECT:
        return read_object(reading, key, json);
    case CONFIG_PROFILES:
        return json_is_object(json) ? config_read_profiles(reading, json) : refuse_kind(reading, key);
    case CONFIG_VARIABLES:
        return read_variables(reading, key, json);
    case CONFIG_LOCKED:
        return read_locked(reading, key, json);
    case CONFIG_KIND_N:
        break;
    }
    return -EINVAL;
}

/* A key of the file that the operator has locked, in another file. */
static bool is_locked(const struct config_reading *reading, const struct config_key *key) {
    return key >= root_keys && key < root_keys + config_root.n_members && key->kind != CONFIG_LOCKED &&
           reading->source->policy && config_locks(reading->config, key->name);
}

static int read_known(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    if (is_locked(reading, key))
        return config_refuse(reading,
                             "is locked by " CONFIG_POLICY_PATH ", which holds for every user of this machine: take it "
                             "out of this file");
    if (!key->or_false || !json_is_false(json))
        return read_value(reading, key, json);
    *(char *)place(reading, key) = 0; /* an empty text, or a bool that is false */
    return 0;
}

static int read_member(const struct config_reading *reading, const struct config_key *key, const char *name,
                       const json_t *json) {
    const struct config_reading inner = reading_below(reading, name);
    char names[256] = "";
    for (size_t i = 0; i < key->n_members; i++)
        if (strcmp(key->members[i].name, name) == 0)
            return read_known(&inner, &key->members[i], json);
    list_names(key, names, sizeof names);
    return config_refuse(&inner, "is not known; there %s %s", key->n_members == 1 ? "is" : "are", names);
}

static int read_object(const struct config_reading *reading, const struct config_key *key, const json_t *json) {
    const char *name;
    json_t *value;
    int r = 0;
    if (!json_is_object(json))
        return refuse_kind(reading, key);
    if (key->or_false)
        *(bool *)place(reading, key) = true; /* the operator's file may have it false */
    json_object_foreach((json_t *)json, name, value) {
        if (read_member(reading, key, name, value) < 0)
            r = -EINVAL;
    }
    return r;
}

int config_read(const struct config_source *source, const struct config_wrongs *wrongs, struct config *config) {
    const struct config_reading reading = {.source = source, .config = config, .wrongs = wrongs};
    int r = read_object(&reading, &config_root, source->json);
    if (!json_object_get(source->json, "profiles") && config_read_profiles(&reading, NULL) < 0)
        r = -EINVAL;
    return r;
}
