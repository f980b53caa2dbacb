/*
 * displays.c - checks the size and the number of a cell's messages, and then their sum.
 *
 * The sum is checked last and includes replacements, so it also bounds a cell
 * whose messages are all replaced. A line on stderr says once for each reason
 * that messages are dropped.
 */

#include "displays.h"

#include "kernel/policy/limits.h"
#include "protocol/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
    TYPES_NAMED = 3, /* MIME types that a replacement names */
    MAX_NAME_BYTES = 256,
};

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

/* A content with a text in the place of all data; execution_count and display_id are kept. */
static json_t *replace(json_t *content, const char *text) {
    json_t *number = json_object_get(content, "execution_count");
    json_t *id = json_object_get(json_object_get(content, "transient"), "display_id");
    json_t *replaced = json_pack("{s:{s:o}, s:{}}", "data", "text/plain", text_format("%s", text), "metadata");
    if (json_is_integer(number))
        json_object_set(replaced, "execution_count", number);
    if (json_is_string(id) && json_string_length(id) <= MAX_NAME_BYTES)
        json_object_set_new(replaced, "transient", json_pack("{s:O}", "display_id", id));
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

/* Keeps the error's name, unless it is too long. */
json_t *displays_error(int64_t limit_bytes, const json_t *content, size_t bytes) {
    char limit[32], text[256];
    const char *ename = json_string_value(json_object_get(content, "ename"));
    snprintf(text, sizeof text, "petri: an error of %zu bytes is not shown: it is over the limit of %s (display).",
             bytes, limits_text(UNIT_BYTES, limit_bytes, limit, sizeof limit));
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

/* Adds the message to the sum of all that the cell has sent. False where that would be over the limit. */
static bool admit_to_all(struct displays *displays, const struct published *message) {
    uint64_t n = (uint64_t)displays->limit_n + DISPLAYS_OTHERS;
    uint64_t each = (uint64_t)displays->limit_bytes + DISPLAYS_ENVELOPE_BYTES;
    uint64_t room = n < UINT64_MAX / each ? n * each : UINT64_MAX;
    uint64_t sent = displays->sent_bytes + message->bytes + DISPLAYS_ENVELOPE_BYTES;
    if (sent > room)
        return false;
    displays->sent_bytes = sent;
    return true;
}

/* Writes the line for stderr that says that messages are dropped, once for each reason. */
static void tell_dropped(struct displays *displays, const struct published *message, bool too_large, char *note,
                         size_t size) {
    char limit[32];
    const char *kind = message->kind->msg_type;
    bool *told = too_large ? &displays->told_comm : &displays->told_all;
    limits_text(UNIT_BYTES, displays->limit_bytes, limit, sizeof limit);
    if (*told)
        return;
    if (too_large)
        snprintf(note, size, "petri: a %s was dropped: it was over the limit of %s (display).\n", kind, limit);
    else
        snprintf(note, size,
                 "petri: the cell has sent as much as all its rich outputs together may be (displays, display); "
                 "what comes now is counted and dropped.\n");
    *told = true;
}

/* The content that replaces the message's; NULL to drop the message. The caller's. */
static json_t *make_replacement(const struct displays *displays, const struct published *message, bool over_n) {
    switch (message->kind->replacement) {
    case REPLACEMENT_NONE:
        return NULL;
    case REPLACEMENT_ERROR:
        return displays_error(displays->limit_bytes, message->content, message->bytes);
    case REPLACEMENT_TEXT:
        break;
    }
    if (!over_n)
        return replace_large(displays, message->content, message->bytes);
    return displays->n == displays->limit_n + 1 ? replace_last(displays, message->content) : NULL;
}

bool displays_admit(struct displays *displays, struct published *message, char *note, size_t note_bytes) {
    note[0] = '\0';
    displays->dropped_bytes += message->dropped_bytes;
    displays->n += message->kind->counts;
    bool over_n = message->kind->counts && displays->n > displays->limit_n;
    bool too_large = message->bytes > (uint64_t)displays->limit_bytes;
    if (over_n || too_large) {
        displays->dropped_bytes += message->bytes;
        json_t *content = make_replacement(displays, message, over_n);
        if (!content && too_large && !over_n)
            tell_dropped(displays, message, true, note, note_bytes);
        if (!content || published_replace(message, content) < 0)
            return false;
    }
    if (admit_to_all(displays, message))
        return true;
    displays->dropped_bytes += message->bytes;
    tell_dropped(displays, message, false, note, note_bytes);
    return false;
}
