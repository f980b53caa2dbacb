#include "ask.h"

#include "kernel/base/cleanup.h"
#include "kernel/policy/ask_parts.h"

#include <string.h>

static int ask_the_limits(const struct ask_reading *reading, const json_t *json) {
    return limits_ask_json(reading->asking->limits, reading->limits, json);
}

static int ask_stdin(const struct ask_reading *reading, const json_t *json) {
    if (!json_is_string(json) || json_string_length(json) > ASK_STDIN_BYTES)
        return ASK_NOT_THIS;
    reading->ask->stdin_text = json_incref((json_t *)json);
    return 0;
}

static bool is_allowed(const json_t *names, const char *name) {
    size_t i;
    json_t *allowed;
    json_array_foreach(names, i, allowed) if (strcmp(json_string_value(allowed), name) == 0) return true;
    return false;
}

static int refuse_variable(const struct ask_reading *reading, const char *name) {
    const json_t *allowed = reading->asking->environment;
    char names[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < json_array_size(allowed) && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? ", " : "",
                               json_string_value(json_array_get(allowed, i)));
    return ask_refuse(reading, "env: the configuration does not allow \"%.60s\"; it allows %s", name,
                      names[0] ? names : "no names");
}

static int ask_env(const struct ask_reading *reading, const json_t *json) {
    const char *name;
    json_t *value;
    if (!json_is_object(json) || json_object_size(json) > ASK_ENV)
        return ASK_NOT_THIS;
    json_object_foreach((json_t *)json, name, value) {
        if (!is_allowed(reading->asking->environment, name))
            return refuse_variable(reading, name);
        if (!json_is_string(value) || (json_string_length(value) > 0 && !ask_is_text(value, ASK_ENV_BYTES)))
            return ask_refuse(reading, "env: \"%.60s\" has to be a text of up to 32 KiB without NUL", name);
    }
    reading->ask->env = json_incref((json_t *)json);
    return 0;
}

static int ask_task(const struct ask_reading *reading, const json_t *json) {
    if (!ask_is_text(json, ASK_TASK_BYTES))
        return ASK_NOT_THIS;
    for (const char *at = json_string_value(json); *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7f)
            return ASK_NOT_THIS;
    memcpy(reading->ask->task, json_string_value(json), json_string_length(json) + 1);
    return 0;
}

static int ask_fresh(const struct ask_reading *reading, const json_t *json) {
    if (!json_is_boolean(json))
        return ASK_NOT_THIS;
    reading->ask->fresh = json_is_true(json);
    return 0;
}

static int ask_cache(const struct ask_reading *reading, const json_t *json) {
    if (json_is_false(json)) {
        reading->ask->cache_ms = -1;
        return 0;
    }
    return json_is_string(json) && limits_parse(UNIT_MS, json_string_value(json), &reading->ask->cache_ms) == 0
               ? 0
               : ASK_NOT_THIS;
}

static int ask_inline(const struct ask_reading *reading, const json_t *json) {
    json_int_t bytes = json_integer_value(json);
    if (!json_is_integer(json) || bytes < 0 || bytes > ASK_INLINE_BYTES)
        return ASK_NOT_THIS;
    reading->ask->inline_bytes = bytes;
    return 0;
}

static const struct ask_key keys[] = {
    {"cache", ask_cache, "false, or a duration such as \"1h\""},
    {"env", ask_env, "an object of up to 64 names and texts"},
    {"expect", ask_expect, "an object"},
    {"files", ask_files, "a list of up to 256 files"},
    {"fresh", ask_fresh, "true or false"},
    {"inline_bytes", ask_inline, "a whole number of bytes, at most 1048576"},
    {"limits", ask_the_limits, "an object"},
    {"stdin", ask_stdin, "a text of up to 8 MiB"},
    {"task", ask_task, "a text of 1 to 128 bytes without control characters"},
};

int ask_parse(const struct asking *asking, const json_t *json, struct limits *limits, struct ask *ret_ask) {
    struct ask ask = {0};
    const struct ask_reading reading = {asking, limits, &ask};
    int r = json ? ask_read_object(&reading, "metadata.petri", keys, sizeof keys / sizeof keys[0], json) : 0;
    if (r < 0)
        ask_fini(&ask);
    else
        *ret_ask = ask;
    return r;
}

void ask_fini(struct ask *ask) {
    for (size_t i = 0; i < ask->n_files; i++) {
        free(ask->files[i].path);
        free(ask->files[i].data);
    }
    for (size_t i = 0; i < ask->n_expected; i++) {
        free(ask->expected[i].path);
        free(ask->expected[i].mime);
    }
    free(ask->files);
    free(ask->expected);
    json_decref(ask->stdin_text);
    json_decref(ask->env);
    json_decref(ask->result_json_schema);
    json_decref(ask->stdout_regex);
    *ask = (struct ask){0};
}
