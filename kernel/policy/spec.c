/*
 * spec.c - the keys of metadata.petri, each with a row and a parser.
 *
 * A parser accepts the value or returns SPEC_NOT_THIS, and then spec_object.c
 * makes the error message; a parser makes its own only where the message has to
 * name more. JSON values of the request are kept by reference, and everything is
 * freed on failure.
 */

#include "spec.h"

#include "base/cleanup.h"
#include "kernel/policy/spec_parts.h"

#include <string.h>

static int spec_the_limits(const struct spec_reading *reading, const json_t *json) {
    return limits_change_json(reading->terms->limits, reading->limits, json);
}

static int spec_stdin(const struct spec_reading *reading, const json_t *json) {
    if (!json_is_string(json) || json_string_length(json) > SPEC_STDIN_BYTES)
        return SPEC_NOT_THIS;
    reading->spec->stdin_text = json_incref((json_t *)json);
    return 0;
}

static bool is_allowed(const json_t *names, const char *name) {
    size_t i;
    json_t *allowed;
    json_array_foreach(names, i, allowed) if (strcmp(json_string_value(allowed), name) == 0) return true;
    return false;
}

static int refuse_variable(const struct spec_reading *reading, const char *name) {
    const json_t *allowed = reading->terms->environment;
    char names[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(allowed) && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                               json_string_value(json_array_get(allowed, i)));
    return spec_refuse(reading, "env: the configuration does not allow \"%.60s\"; it allows %s", name,
                       names[0] ? names : "no names");
}

static int spec_env(const struct spec_reading *reading, const json_t *json) {
    const char *name;
    json_t *value;
    if (!json_is_object(json) || json_object_size(json) > SPEC_ENV)
        return SPEC_NOT_THIS;
    json_object_foreach((json_t *)json, name, value) {
        if (!is_allowed(reading->terms->environment, name))
            return refuse_variable(reading, name);
        if (!json_is_string(value) || (json_string_length(value) > 0 && !spec_is_text(value, SPEC_ENV_BYTES)))
            return spec_refuse(reading, "env: \"%.60s\" has to be a text of up to 32 KiB without NUL", name);
    }
    reading->spec->env = json_incref((json_t *)json);
    return 0;
}

static int spec_task(const struct spec_reading *reading, const json_t *json) {
    if (!spec_is_text(json, SPEC_TASK_BYTES))
        return SPEC_NOT_THIS;
    for (const char *at = json_string_value(json); *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return SPEC_NOT_THIS;
    memcpy(reading->spec->task, json_string_value(json), json_string_length(json) + 1);
    return 0;
}

static int spec_fresh(const struct spec_reading *reading, const json_t *json) {
    if (!json_is_boolean(json))
        return SPEC_NOT_THIS;
    reading->spec->fresh = json_is_true(json);
    return 0;
}

/* Read by spec_from(). */
static int spec_the_origin(const struct spec_reading *reading, const json_t *json) {
    (void)reading;
    return json_is_string(json) && !image_name_text_problem(json_string_value(json), json_string_length(json))
               ? 0
               : SPEC_NOT_THIS;
}

static bool is_branch(const json_t *commit) {
    const char *text = json_string_value(commit);
    return text && strcmp(text, "branch") == 0;
}

static int spec_commit(const struct spec_reading *reading, const json_t *json) {
    reading->spec->keeps_branch = is_branch(json);
    reading->spec->no_commit = json_is_false(json) || reading->spec->keeps_branch;
    return json_is_boolean(json) || reading->spec->keeps_branch ? 0 : SPEC_NOT_THIS;
}

static int spec_checkpoint(const struct spec_reading *reading, const json_t *json) {
    if (!spec_is_text(json, IMAGE_NAME_BYTES))
        return SPEC_NOT_THIS;
    const char *problem = image_name_problem(json_string_value(json));
    if (problem)
        return spec_refuse(reading, "checkpoint: the name \"%.64s\" %s", json_string_value(json), problem);
    memcpy(reading->spec->checkpoint, json_string_value(json), json_string_length(json) + 1);
    return 0;
}

static int spec_cache(const struct spec_reading *reading, const json_t *json) {
    if (json_is_false(json)) {
        reading->spec->cache_ms = -1;
        return 0;
    }
    return json_is_string(json) && limits_parse(UNIT_MS, json_string_value(json), &reading->spec->cache_ms) == 0
               ? 0
               : SPEC_NOT_THIS;
}

static int spec_inline(const struct spec_reading *reading, const json_t *json) {
    json_int_t bytes = json_integer_value(json);
    if (!json_is_integer(json) || bytes < 0 || bytes > SPEC_INLINE_BYTES)
        return SPEC_NOT_THIS;
    reading->spec->inline_bytes = bytes;
    return 0;
}

static const struct spec_key keys[] = {
    {"cache", spec_cache, "false, or a duration such as \"1h\""},
    {"checkpoint", spec_checkpoint, "a name of up to 64 bytes"},
    {"commit", spec_commit, "true, false or \"branch\""},
    {"env", spec_env, "an object of up to 64 names and texts"},
    {"expect", spec_expect, "an object"},
    {"files", spec_files, "a list of up to 256 files"},
    {"fresh", spec_fresh, "true or false"},
    {"from", spec_the_origin, "the id of a run, a checkpoint, or \"first\""},
    {"inline_bytes", spec_inline, "a whole number of bytes, at most 1048576"},
    {"limits", spec_the_limits, "an object"},
    {"stdin", spec_stdin, "a text of up to 8 MiB"},
    {"task", spec_task, "a text of 1 to 128 bytes without control characters"},
};

/* What contradicts each other. */
static int check_travel(const struct spec_reading *reading, const json_t *json) {
    const struct spec *spec = reading->spec;
    const bool commits = json_is_true(json_object_get(json, "commit")) || spec->keeps_branch;
    if (spec->fresh && (spec_from(json) || commits))
        return spec_refuse(reading, "a fresh run begins from the first image and leaves nothing: \"from\" and "
                                    "\"commit\" are for others");
    if (spec->keeps_branch && !spec_from(json))
        return spec_refuse(reading, "a branch begins from an image: \"commit\" \"branch\" needs \"from\"");
    if (spec->checkpoint[0] && (spec->fresh || (spec->no_commit && !spec->keeps_branch)))
        return spec_refuse(reading, "\"checkpoint\" names what a run leaves, and this one leaves nothing");
    return 0;
}

int spec_parse(const struct spec_terms *terms, const json_t *json, struct limits *limits, struct spec *ret_spec) {
    struct spec spec = {0};
    const struct spec_reading reading = {terms, limits, &spec};
    int r = json ? spec_read_object(&reading, "metadata.petri", keys, sizeof keys / sizeof keys[0], json) : 0;
    if (r == 0)
        r = check_travel(&reading, json);
    if (r < 0)
        spec_fini(&spec);
    else
        *ret_spec = spec;
    return r;
}

const char *spec_from(const json_t *json) {
    const json_t *from = json_object_get(json, "from");
    return json_is_string(from) && !image_name_text_problem(json_string_value(from), json_string_length(from))
               ? json_string_value(from)
               : NULL;
}

const char *spec_checkpoint_of(const json_t *json) {
    return json_string_value(json_object_get(json, "checkpoint"));
}

bool spec_may_leave(const json_t *json) {
    return !json_is_true(json_object_get(json, "fresh")) && !json_is_false(json_object_get(json, "commit"));
}

bool spec_goes_beside(const json_t *json) {
    const json_t *commit = json_object_get(json, "commit");
    return json_is_true(json_object_get(json, "fresh")) ||
           (spec_from(json) && (json_is_false(commit) || is_branch(commit)));
}

void spec_fini(struct spec *spec) {
    for (size_t i = 0; i < spec->n_files; i++) {
        free(spec->files[i].path);
        free(spec->files[i].data);
    }
    for (size_t i = 0; i < spec->n_expected; i++) {
        free(spec->expected[i].path);
        free(spec->expected[i].mime);
    }
    free(spec->files);
    free(spec->expected);
    json_decref(spec->stdin_text);
    json_decref(spec->env);
    json_decref(spec->result_json_schema);
    json_decref(spec->stdout_regex);
    *spec = (struct spec){0};
}
