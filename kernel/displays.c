#include "displays.h"

#include "kernel/limits.h"
#include "protocol/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    TYPES_NAMED = 3, /* of a dropped output's representations */
    MAX_NAME_BYTES = 256,
};

/* What stands in the place of a message that is too large. */
enum instead { INSTEAD_TEXT, INSTEAD_ERROR, INSTEAD_NOTHING };

/* The messages that are held to the limit of size, and whether one is one more rich output. */
static const struct {
    const char *msg_type;
    bool counts;
    enum instead instead;
} rich[] = {
    {"display_data", true, INSTEAD_TEXT},         {"execute_result", true, INSTEAD_TEXT},
    {"update_display_data", false, INSTEAD_TEXT}, {"error", false, INSTEAD_ERROR},
    {"comm_open", false, INSTEAD_NOTHING},        {"comm_msg", false, INSTEAD_NOTHING},
    {"comm_close", false, INSTEAD_NOTHING},
};

static int find_rich(const char *msg_type) {
    for (int i = 0; i < (int)(sizeof rich / sizeof rich[0]); i++)
        if (strcmp(rich[i].msg_type, msg_type) == 0)
            return i;
    return -1;
}

/* Recurses: the depth of what a worker sends is limited, wire.h. */
size_t displays_bytes(json_t *value) {
    const char *key;
    json_t *item;
    size_t i, n = 0;
    if (json_is_string(value))
        return json_string_length(value);
    json_array_foreach(value, i, item) n += displays_bytes(item);
    json_object_foreach(value, key, item) n += strlen(key) + displays_bytes(item);
    return n;
}

/* "image/png, text/plain, ..." */
static void name_types(json_t *data, char *buf, size_t size) {
    const char *type;
    json_t *value;
    size_t n = 0;
    int named = 0;
    buf[0] = '\0';
    json_object_foreach(data, type, value) {
        if (n >= size || named > TYPES_NAMED)
            break;
        n += (size_t)snprintf(buf + n, size - n, "%s%.40s", n ? ", " : "", named == TYPES_NAMED ? "..." : type);
        named++;
    }
}

/* The message with a text for all its representations; what else it says, such as its number, stays. */
static json_t *replace(json_t *content, const char *text) {
    json_t *replaced = json_copy(content);
    json_object_set_new(replaced, "data", json_pack("{s:o}", "text/plain", text_format("%s", text)));
    json_object_set_new(replaced, "metadata", json_object());
    return replaced;
}

static json_t *replace_large(const struct displays *displays, json_t *content, size_t bytes) {
    char limit[32], types[256], text[512];
    name_types(json_object_get(content, "data"), types, sizeof types);
    snprintf(text, sizeof text,
             "petri: an output of %zu bytes (%s) is not shown: it is over the limit of %s (display).", bytes, types,
             limits_text(UNIT_BYTES, displays->limit_bytes, limit, sizeof limit));
    return replace(content, text);
}

/* An error keeps its name, as far as that is one. */
static json_t *replace_error(const struct displays *displays, json_t *content, size_t bytes) {
    char limit[32], text[256];
    const char *ename = json_string_value(json_object_get(content, "ename"));
    snprintf(text, sizeof text, "petri: an error of %zu bytes is not shown: it is over the limit of %s (display).",
             bytes, limits_text(UNIT_BYTES, displays->limit_bytes, limit, sizeof limit));
    return json_pack("{s:s, s:s, s:[s]}", "ename", ename && strlen(ename) <= MAX_NAME_BYTES ? ename : "Error", "evalue",
                     text, "traceback", text);
}

static json_t *replace_last(const struct displays *displays, json_t *content) {
    char limit[32], text[256];
    snprintf(text, sizeof text,
             "petri: the cell has shown %s rich outputs, its limit (displays); what comes now is counted and dropped.",
             limits_text(UNIT_COUNT, displays->limit_n, limit, sizeof limit));
    return replace(content, text);
}

json_t *displays_take(struct displays *displays, const char *msg_type, json_t *content, size_t buffer_bytes) {
    int row = find_rich(msg_type);
    if (row < 0)
        return json_incref(content);
    enum instead instead = rich[row].instead;
    json_t *measured = instead == INSTEAD_TEXT ? json_object_get(content, "data") : content;
    size_t bytes = displays_bytes(measured) + buffer_bytes;
    displays->n += rich[row].counts;
    bool over_n = rich[row].counts && displays->n > displays->limit_n;
    bool too_large = bytes > (uint64_t)displays->limit_bytes;
    if (!over_n && !too_large)
        return json_incref(content);
    displays->dropped_bytes += bytes;
    if (instead == INSTEAD_NOTHING)
        return NULL;
    if (instead == INSTEAD_ERROR)
        return replace_error(displays, content, bytes);
    if (!over_n)
        return replace_large(displays, content, bytes);
    return displays->n == displays->limit_n + 1 ? replace_last(displays, content) : NULL;
}
