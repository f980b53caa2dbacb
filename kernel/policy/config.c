/*
 * config.c - reads the operator's file and then the user's own over it, and accepts either all of both or nothing.
 *
 * The keys are read into a new struct that has the defaults. What is wrong in one
 * file does not keep the other from being read, so that a check tells all of it.
 */

#include "config.h"

#include "kernel/policy/config_keys.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    GRACE_MS = 2000,
    KEEP_DAYS = 90,
    RECORDS_BYTES = 1 << 30,
    MAX_DEPTH = 16,
};

/* The configuration without a file. */
static void set_defaults(struct config *ret_config) {
    *ret_config = (struct config){
        .grace_ms = GRACE_MS,
        .history = true,
        .records = {.on = true, .keep_days = KEEP_DAYS, .max_bytes = RECORDS_BYTES},
        .artifacts = "outputs",
    };
    profile_of_kind(PROFILE_NOTEBOOK, &ret_config->profile);
    limits_defaults(PROFILE_NOTEBOOK, &ret_config->limits);
}

void config_closed(struct config *ret_config) {
    set_defaults(ret_config);
    ret_config->history = ret_config->records.on = false;
    ret_config->artifacts[0] = '\0';
}

void config_fini(struct config *config) {
    json_t *const texts[] = {config->environment,     config->inputs,         config->packages,
                             config->redact,          config->variables,      config->refuse.imports,
                             config->refuse.patterns, config->writable.allow, config->locked};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        json_decref(texts[i]);
    *config = (struct config){0};
}

json_t *config_variables(const struct config *config) {
    json_t *variables = config->profile.kind == PROFILE_STRICT ? NULL : json_object();
    const char *name;
    json_t *value;
    json_object_foreach(config->variables, name, value) {
        const char *own = json_is_true(value) ? getenv(name) : NULL;
        if (json_is_string(value))
            json_object_set(variables, name, value);
        else if (own)
            json_object_set_new(variables, name, json_string_nocheck(own));
    }
    return variables;
}

/* Who is told of what is wrong in a file. */
struct telling {
    const struct config_file *file;
    const struct config_listener *listener;
    json_t *told;       /* what has been said: a profile is read again for each that is based on it */
    struct error first; /* with file and line */
};

static void tell(struct telling *telling, unsigned line, const char *sentence) {
    char key[ERROR_TEXT_BYTES + 16];
    const char *path = telling->file->path;
    snprintf(key, sizeof key, "%u %s", line, sentence);
    if (json_object_get(telling->told, key))
        return;
    json_object_set_new(telling->told, key, json_true());
    if (!telling->first.text[0] && path[0])
        error_set(&telling->first, EINVAL, "The configuration %s, line %u: %s", path, line, sentence);
    else if (!telling->first.text[0])
        error_set(&telling->first, EINVAL, "%s", sentence);
    if (telling->listener->problem)
        telling->listener->problem(telling->listener->arg, path, line, sentence);
}

static void tell_wrong(void *arg, const struct config_place *place, const char *sentence) {
    struct telling *telling = arg;
    const struct config_file *file = telling->file;
    tell(telling, file->text ? config_line(file->text, file->bytes, place) : 1, sentence);
}

/* The file's JSON object, {} where there is no file; NULL after it was told where it is none. The caller's. */
static json_t *parse_json(struct telling *telling) {
    const struct config_file *file = telling->file;
    json_error_t where;
    struct error error;
    if (!file->text)
        return json_object();
    json_t *json = text_parse_json(file->text, file->bytes, MAX_DEPTH);
    if (json_is_object(json))
        return json;
    json_decref(json);
    json_auto_t *other = json_loadb(file->text, file->bytes, JSON_ALLOW_NUL | JSON_DECODE_ANY, &where);
    if (other || where.line < 1 || where.column < 1) {
        tell(telling, 1, "It is not a JSON object.");
        return NULL;
    }
    error_set(&error, EINVAL, "It is not a JSON object: column %d: %.200s.", where.column, where.text);
    tell(telling, (unsigned)where.line, error.text);
    return NULL;
}

/* Reads one file into config. 0, or -EINVAL after it was told. */
static int read_one(struct telling *telling, const struct config_source *source, struct config *config) {
    const struct config_wrongs wrongs = {tell_wrong, telling};
    return source->json ? config_read(source, &wrongs, config) : -EINVAL;
}

/* Reads both files. Where one is wrong, ret_error is about the first thing, and ret_config is not touched. */
static int read_both(const struct config_files *files, const char *profile, const struct config_listener *listener,
                     struct config *ret_config, struct error *ret_error) {
    json_auto_t *told = json_object(), *told_own = json_object();
    struct telling of_policy = {.file = &files->policy, .listener = listener, .told = told};
    struct telling of_own = {.file = &files->own, .listener = listener, .told = told_own};
    struct config config;
    set_defaults(&config);
    json_auto_t *policy = parse_json(&of_policy);
    json_auto_t *own = parse_json(&of_own);
    int r = read_one(&of_policy, &(struct config_source){.json = policy, .is_policy = true}, &config);
    config.operators_kernels = config.kernels;
    if (read_one(&of_own,
                 &(struct config_source){
                     .json = own, .policy = policy, .profile = profile ? profile : profile_name(PROFILE_NOTEBOOK)},
                 &config) < 0)
        r = -EINVAL;
    if (r == 0) {
        *ret_config = config;
        return 0;
    }
    config_fini(&config);
    if (ret_error)
        *ret_error = of_policy.first.text[0] ? of_policy.first : of_own.first;
    return r;
}

int config_parse(const struct config_files *files, const char *profile, struct config *ret_config,
                 struct error *ret_error) {
    return read_both(files, profile, &(struct config_listener){0}, ret_config, ret_error);
}

int config_load(const char *path, const char *profile, struct config *ret_config, struct error *ret_error) {
    struct config_files files;
    int r = config_files_read(path, &files, ret_error);
    if (r < 0)
        return r;
    r = config_parse(&files, profile, ret_config, ret_error);
    config_files_fini(&files);
    return r;
}

int config_check(const struct config_files *files, const struct config_listener *listener) {
    struct config config;
    int r = read_both(files, NULL, listener, &config, NULL);
    if (r == 0)
        config_fini(&config);
    return r;
}
