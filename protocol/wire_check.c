/*
 * wire_check.c - the schema of a worker's frames, with one row for each key, and the function that applies it.
 *
 * A key without a row may have any value, and has to be checked where it is used.
 * The type and, of a publish, its msg_type are looked up in tables first, so an
 * unknown name is refused.
 */

#include "wire.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define MAX_NAME_BYTES 256
#define MAX_COUNT ((json_int_t)1 << 53) /* exact in every JSON parser */

static bool is_count(const json_t *json) {
    return json_is_integer(json) && json_integer_value(json) >= 0 && json_integer_value(json) <= MAX_COUNT;
}

/* A short string without NUL. */
static bool is_name(const json_t *json) {
    size_t bytes = json_string_length(json);
    return bytes > 0 && bytes <= MAX_NAME_BYTES && memchr(json_string_value(json), '\0', bytes) == NULL;
}

static bool is_string(const json_t *json) {
    return json_is_string(json);
}

/* "stdout" or "stderr". */
static bool is_stream(const json_t *json) {
    const char *name = json_string_value(json);
    return name != NULL && (strcmp(name, "stdout") == 0 || strcmp(name, "stderr") == 0);
}

static bool is_boolean(const json_t *json) {
    return json_is_boolean(json);
}

static bool is_object(const json_t *json) {
    return json_is_object(json);
}

static bool is_strings(const json_t *json) {
    bool ok = json_is_array(json);
    for (size_t i = 0; ok && i < json_array_size(json); i++)
        ok = json_is_string(json_array_get(json, i));
    return ok;
}

#define WORDS_is_count "a whole number from 0 to 2^53"
#define WORDS_is_name "a string of 1 to 256 bytes without NUL"
#define WORDS_is_stream "\"stdout\" or \"stderr\""
#define WORDS_is_string "a string"
#define WORDS_is_boolean "true or false"
#define WORDS_is_object "an object"
#define WORDS_is_strings "a list of strings"

/* A rule: objects of this scope have this key with a value of this kind. */
struct rule {
    const char *scope;
    const char *key;
    bool (*kind)(const json_t *json);
    bool required;
    const char *why;
};

#define MUST(scope, key, kind)                                                                                         \
    { scope, key, kind, true, scope ": \"" key "\" is missing or is not " WORDS_##kind }
#define MAY(scope, key, kind)                                                                                          \
    { scope, key, kind, false, scope ": \"" key "\" is not " WORDS_##kind }

/* See: docs/worker-wire.md; for the contents, Jupyter messaging, "Messages on the IOPub channel". */
static const struct rule rules[] = {
    MUST("hello", "language_info", is_object),
    MUST("hello", "banner", is_string),
    MUST("language_info", "name", is_name),
    MUST("language_info", "version", is_name),
    MUST("language_info", "mimetype", is_name),
    MUST("language_info", "file_extension", is_name),
    MUST("publish", "seq", is_count),
    MUST("publish", "msg_type", is_name),
    MUST("publish", "content", is_object),
    MAY("publish", "metadata", is_object),
    MAY("publish", "parent", is_count),
    MUST("sync", "seq", is_count),
    MUST("input", "seq", is_count),
    MUST("input", "prompt", is_string),
    MUST("input", "password", is_boolean),
    MUST("variable", "name", is_string),
    MUST("variable", "value", is_string),
    MUST("done", "reply", is_object),
    MAY("reply", "status", is_name),
    /* contents */
    MUST("stream", "name", is_stream),
    MUST("stream", "text", is_string),
    MUST("display_data", "data", is_object),
    MAY("display_data", "metadata", is_object),
    MAY("display_data", "transient", is_object),
    MUST("update_display_data", "data", is_object),
    MAY("update_display_data", "metadata", is_object),
    MUST("update_display_data", "transient", is_object),
    MUST("execute_result", "data", is_object),
    MAY("execute_result", "metadata", is_object),
    MAY("execute_result", "execution_count", is_count),
    MUST("error", "ename", is_string),
    MUST("error", "evalue", is_string),
    MUST("error", "traceback", is_strings),
    MUST("clear_output", "wait", is_boolean),
    MUST("comm_open", "comm_id", is_name),
    MUST("comm_open", "target_name", is_name),
    MUST("comm_msg", "comm_id", is_name),
    MUST("comm_close", "comm_id", is_name),
};

/* The msg_types that a worker may publish. Messages that only the kernel sends, as status, are not here. */
static const char *const published[] = {
    "stream",    "display_data", "update_display_data", "execute_result", "error", "clear_output",
    "comm_open", "comm_msg",     "comm_close",
};

static const char *const types[] = {
    [WIRE_HELLO] = "hello", [WIRE_READY] = "ready",       [WIRE_PUBLISH] = "publish", [WIRE_SYNC] = "sync",
    [WIRE_INPUT] = "input", [WIRE_VARIABLE] = "variable", [WIRE_DONE] = "done",
};
_Static_assert(sizeof types / sizeof types[0] == WIRE_N_TYPES, "a name for each type");

/* The objects inside a frame that have rules of their own. */
static const struct {
    enum wire_type type;
    const char *key;
    const char *scope; /* NULL: the one that msg_type names */
} inner_scopes[] = {
    {WIRE_HELLO, "language_info", "language_info"},
    {WIRE_PUBLISH, "content", NULL},
    {WIRE_DONE, "reply", "reply"},
};

/* The text of the first rule of scope that is broken, or NULL. */
static const char *check_scope(const json_t *object, const char *scope) {
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        const struct rule *rule = &rules[i];
        if (strcmp(rule->scope, scope) != 0)
            continue;
        const json_t *value = json_object_get(object, rule->key);
        if (value == NULL ? rule->required : !rule->kind(value))
            return rule->why;
    }
    return NULL;
}

/* The index of a JSON string in a list of names, or n. */
static size_t find_name(const json_t *json, const char *const *names, size_t n) {
    size_t i = 0;
    while (i < n && (!is_name(json) || strcmp(json_string_value(json), names[i]) != 0))
        i++;
    return i;
}

static const char *check_inner(const json_t *json, enum wire_type type, const char *msg_type) {
    const char *why = NULL;
    for (size_t i = 0; i < sizeof inner_scopes / sizeof inner_scopes[0] && why == NULL; i++) {
        if (inner_scopes[i].type == type) {
            const char *scope = inner_scopes[i].scope != NULL ? inner_scopes[i].scope : msg_type;
            why = check_scope(json_object_get(json, inner_scopes[i].key), scope);
        }
    }
    return why;
}

static const char *find_problem(const json_t *json, enum wire_type *ret_type) {
    size_t type = find_name(json_object_get(json, "type"), types, WIRE_N_TYPES);
    if (type == WIRE_N_TYPES)
        return "\"type\" is missing or is not one that a worker may send";
    const char *why = check_scope(json, types[type]);
    if (why)
        return why;
    const char *msg_type = "";
    if (type == WIRE_PUBLISH) {
        size_t n_published = sizeof published / sizeof published[0];
        size_t i = find_name(json_object_get(json, "msg_type"), published, n_published);
        if (i == n_published)
            return "publish: \"msg_type\" is not one that a worker may publish";
        msg_type = published[i];
    }
    *ret_type = (enum wire_type)type;
    return check_inner(json, *ret_type, msg_type);
}

int wire_check(const json_t *json, enum wire_type *ret_type, const char **ret_why) {
    enum wire_type type;
    const char *why = find_problem(json, &type);
    if (why) {
        *ret_why = why;
        return -EBADMSG;
    }
    *ret_type = type;
    return 0;
}
