#include "transcript.h"

#include "kernel/displays.h"
#include "protocol/bytes.h"
#include "protocol/text.h"

#include <string.h>

static const char *const stream_names[OUTPUT_N] = {[OUTPUT_STDOUT] = "stdout", [OUTPUT_STDERR] = "stderr"};

/* Messages that are outputs, and the fields that a notebook's file keeps of them. */
static const struct {
    const char *msg_type;
    const char *fields[4];
} kinds[] = {
    {"display_data", {"data", "metadata"}},
    {"update_display_data", {"data", "metadata", "transient"}},
    {"execute_result", {"data", "metadata", "execution_count"}},
    {"error", {"ename", "evalue", "traceback"}},
    {"clear_output", {"wait"}},
};

void transcript_fini(struct transcript *transcript) {
    json_decref(transcript->outputs);
    json_decref(transcript->result);
    *transcript = (struct transcript){0};
}

static void add(json_t **rows, json_t *row) {
    if (!*rows)
        *rows = json_array();
    json_array_append_new(*rows, row);
}

static int find_stream(const char *name) {
    int i = 0;
    while (i < OUTPUT_N && strcmp(stream_names[i], name) != 0)
        i++;
    return i;
}

void transcript_stream(struct transcript *transcript, const char *name, const char *data, size_t bytes) {
    int stream = find_stream(name);
    if (stream == OUTPUT_N)
        return;
    size_t room = TRANSCRIPT_STREAM_BYTES - transcript->kept_bytes[stream];
    size_t kept = bytes <= room ? bytes : text_whole_utf8(data, room);
    if (kept < bytes) {
        transcript->kept_bytes[stream] = TRANSCRIPT_STREAM_BYTES; /* what comes later is no head any more */
        transcript->cut = true;
    } else {
        transcript->kept_bytes[stream] += kept;
    }
    if (kept > 0)
        add(&transcript->outputs,
            json_pack("{s:s, s:s, s:o}", "output_type", "stream", "name", name, "text", text_to_json(data, kept)));
}

/* The row that a message becomes. */
static json_t *row_of(size_t kind, json_t *content) {
    json_t *row = json_pack("{s:s}", "output_type", kinds[kind].msg_type);
    for (const char *const *field = kinds[kind].fields; *field; field++)
        if (json_object_get(content, *field))
            json_object_set(row, *field, json_object_get(content, *field));
    return row;
}

static void keep(struct transcript *transcript, size_t kind, json_t *content, size_t bytes) {
    bool fits = bytes <= TRANSCRIPT_RICH_BYTES - transcript->rich_bytes;
    if (strcmp(kinds[kind].msg_type, "execute_result") == 0) {
        json_decref(transcript->result);
        transcript->result = fits ? json_incref(json_object_get(content, "data")) : NULL;
        transcript->result_cut = !fits;
    }
    if (!fits) {
        transcript->cut = true;
        return;
    }
    transcript->rich_bytes += bytes;
    add(&transcript->outputs, row_of(kind, content));
}

void transcript_message(struct transcript *transcript, const char *msg_type, json_t *content, size_t buffer_bytes) {
    enum { ROW_BYTES = 64 }; /* a row takes room even where it says nothing */
    size_t kind = 0;
    if (strcmp(msg_type, "stream") == 0) {
        const json_t *text = json_object_get(content, "text");
        const char *name = json_string_value(json_object_get(content, "name"));
        if (name && json_is_string(text))
            transcript_stream(transcript, name, json_string_value(text), json_string_length(text));
        return;
    }
    while (kind < sizeof kinds / sizeof kinds[0] && strcmp(kinds[kind].msg_type, msg_type) != 0)
        kind++;
    if (kind == sizeof kinds / sizeof kinds[0])
        return;
    if (buffer_bytes > 0)
        transcript->cut = true;
    keep(transcript, kind, content, displays_bytes(content) + ROW_BYTES);
}

json_t *transcript_text(const struct transcript *transcript, enum output output) {
    auto_bytes text = {0};
    size_t i;
    json_t *row;
    json_array_foreach(transcript->outputs, i, row) {
        const char *name = json_string_value(json_object_get(row, "name"));
        const json_t *piece = json_object_get(row, "text");
        if (name && strcmp(name, stream_names[output]) == 0 && json_is_string(piece))
            bytes_append(&text, json_string_value(piece), json_string_length(piece));
    }
    return bytes_ok(&text) ? text_to_json(text.data, text.n) : NULL;
}
