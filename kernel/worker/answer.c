/*
 * answer.c - the tables of a reply's fields and payloads, and the replacements for those that are too large.
 *
 * Only fields that a table names are passed on, so a field that a worker adds
 * reaches no client. Sizes are those of the JSON as it is sent. A field over its
 * limit is replaced by a note where there is one, and dropped otherwise. The
 * number of dropped bytes is the difference between the sizes of the whole reply
 * before and after.
 *
 * See: Jupyter messaging, "Execution results", "Completion", "Introspection".
 */

#include "answer.h"

#include "kernel/worker/displays.h"
#include "protocol/bytes.h"
#include "protocol/json_write.h"
#include "protocol/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_string(const json_t *json) {
    return json_is_string(json);
}

static bool is_object(const json_t *json) {
    return json_is_object(json);
}

static bool is_array(const json_t *json) {
    return json_is_array(json);
}

static bool is_boolean(const json_t *json) {
    return json_is_boolean(json);
}

static bool is_count(const json_t *json) {
    return json_is_integer(json) && json_integer_value(json) >= 0;
}

static bool is_strings(const json_t *json) {
    bool ok = json_is_array(json);
    for (size_t i = 0; ok && i < json_array_size(json); i++)
        ok = json_is_string(json_array_get(json, i));
    return ok;
}

#define ALL (1U << ANSWER_EXECUTE | 1U << ANSWER_COMPLETE | 1U << ANSWER_INSPECT | 1U << ANSWER_IS_COMPLETE)

/* See: Jupyter messaging, "Request / reply", "Execution results", "Completion", "Introspection". */
static const struct {
    const char *key;
    unsigned kinds;
    bool (*is)(const json_t *json);
} fields[] = {
    {"status", ALL, is_string},
    {"ename", ALL, is_string},
    {"evalue", ALL, is_string},
    {"traceback", ALL, is_strings},
    {"user_expressions", 1U << ANSWER_EXECUTE, is_object},
    {"payload", 1U << ANSWER_EXECUTE, is_array},
    {"matches", 1U << ANSWER_COMPLETE, is_strings},
    {"cursor_start", 1U << ANSWER_COMPLETE, is_count},
    {"cursor_end", 1U << ANSWER_COMPLETE, is_count},
    {"found", 1U << ANSWER_INSPECT, is_boolean},
    {"data", 1U << ANSWER_INSPECT, is_object},
    {"metadata", 1U << ANSWER_COMPLETE | 1U << ANSWER_INSPECT, is_object},
    {"indent", 1U << ANSWER_IS_COMPLETE, is_string},
};

json_t *answer_fields(enum answer_kind kind, const json_t *reply) {
    json_t *taken = json_object();
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        json_t *value = json_object_get(reply, fields[i].key);
        if (fields[i].kinds & 1U << kind && value && fields[i].is(value))
            json_object_set(taken, fields[i].key, value);
    }
    return taken;
}

/* The size as it is sent; more than any limit where the value is nested too deep to be sent. */
static size_t bytes_of(const json_t *json) {
    auto_bytes text = {0};
    return json_write(&text, json) == 0 && bytes_ok(&text) ? text.n : SIZE_MAX / 2;
}

/*
 * The payloads that are passed on. `edit_magic` is not among them: for it a front
 * end opens a file of its own machine, and qtconsole does so through a shell.
 * `ask_exit` ends the session, which code may not do in profile strict.
 * See: Jupyter messaging, "Payloads (DEPRECATED)".
 */
static const struct source {
    const char *name;
    bool strict; /* also passed on in profile strict */
    enum limit limit;
    struct {
        const char *key;
        bool (*is)(const json_t *json);
    } keys[3];        /* NULL ends them; the first is required, the others are optional */
    const char *note; /* the text that replaces a payload that is too large; NULL: it is dropped */
} sources[] = {
    {"page",
     true,
     LIMIT_DISPLAY,
     {{"data", is_object}, {"start", is_count}},
     "petri: a page of %zu bytes is not shown: it is over the limit of %s (display)."},
    {"set_next_input", true, LIMIT_CODE, {{"text", is_string}, {"replace", is_boolean}}, NULL},
    {"ask_exit", false, LIMIT_CODE, {{"keepkernel", is_boolean}}, NULL},
};
enum { N_SOURCES = sizeof sources / sizeof sources[0] };

static const struct source *source_of(const json_t *item) {
    const char *name = json_string_value(json_object_get(item, "source"));
    for (size_t i = 0; name && i < N_SOURCES; i++)
        if (strcmp(sources[i].name, name) == 0)
            return &sources[i];
    return NULL;
}

/* The item with its known keys only. The caller's. */
static json_t *take_keys(const struct source *source, const json_t *item) {
    json_t *taken = json_pack("{s:s}", "source", source->name);
    for (size_t i = 0; i < 3 && source->keys[i].key; i++) {
        json_t *value = json_object_get(item, source->keys[i].key);
        if (value && source->keys[i].is(value))
            json_object_set(taken, source->keys[i].key, value);
    }
    return taken;
}

/* Replaces an item that is too large; steals it. NULL where it is dropped: too large, or without its first key. */
static json_t *limit_item(const struct answer_terms *terms, const struct source *source, json_t *item) {
    char limit[32], text[160];
    const char *first = source->keys[0].key;
    int64_t at_most = terms->limits->values[source->limit];
    size_t bytes = bytes_of(item);
    if (json_object_get(item, first) && bytes <= (uint64_t)at_most)
        return item;
    bool there = json_object_get(item, first) != NULL;
    json_decref(item);
    if (!there || !source->note)
        return NULL;
    limits_text(UNIT_BYTES, at_most, limit, sizeof limit);
    snprintf(text, sizeof text, source->note, bytes, limit); // NOLINT(clang-diagnostic-format-nonliteral)
    return json_pack("{s:s, s:{s:s}, s:i}", "source", source->name, first, "text/plain", text, "start", 0);
}

/* The last item of each source, in the table's order. */
static json_t *take_payload(const struct answer_terms *terms, const json_t *payload) {
    json_t *last[N_SOURCES] = {0};
    json_t *taken = json_array();
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)payload, i, item) {
        const struct source *source = source_of(item);
        if (source && (source->strict || terms->profile != PROFILE_STRICT))
            last[source - sources] = item;
    }
    for (i = 0; i < N_SOURCES; i++) {
        item = last[i] ? limit_item(terms, &sources[i], take_keys(&sources[i], last[i])) : NULL;
        if (item)
            json_array_append_new(taken, item);
    }
    return taken;
}

/* The results of the expressions that the request has; one over the limit is replaced by an error. */
static json_t *take_expressions(const struct answer_terms *terms, json_t *results) {
    json_t *taken = json_object();
    int64_t at_most = terms->limits->values[LIMIT_DISPLAY];
    size_t room = (size_t)at_most;
    const char *name;
    json_t *result;
    json_object_foreach(results, name, result) {
        if (!json_is_object(result) || !json_object_get(terms->expressions, name))
            continue;
        size_t bytes = bytes_of(result);
        if (bytes <= room) {
            room -= bytes;
            json_object_set(taken, name, result);
            continue;
        }
        json_t *error = displays_error(at_most, NULL, bytes);
        json_object_set_new(error, "status", json_string("error"));
        json_object_set_new(taken, name, error);
    }
    return taken;
}

/* Replaces an error that is too large. */
static void limit_error(const struct answer_terms *terms, json_t *content) {
    static const char *const keys[] = {"ename", "evalue", "traceback"};
    int64_t at_most = terms->limits->values[LIMIT_DISPLAY];
    json_auto_t *error = json_object();
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_object_get(content, keys[i]))
            json_object_set(error, keys[i], json_object_get(content, keys[i]));
    size_t bytes = bytes_of(error);
    if (bytes <= (uint64_t)at_most)
        return;
    json_auto_t *note = displays_error(at_most, error, bytes);
    json_object_update(content, note);
}

json_t *answer_execute(const struct answer_terms *terms, const json_t *reply, uint64_t *ret_dropped_bytes) {
    json_t *content = answer_fields(ANSWER_EXECUTE, reply);
    json_t *results = json_object_get(content, "user_expressions");
    const json_t *payload = json_object_get(content, "payload");
    if (results)
        json_object_set_new(content, "user_expressions", take_expressions(terms, results));
    if (payload)
        json_object_set_new(content, "payload", take_payload(terms, payload));
    limit_error(terms, content);
    size_t given = bytes_of(reply), left = bytes_of(content);
    *ret_dropped_bytes = given > left ? given - left : 0;
    return content;
}
