/*
 * transcript.c - rows in the order of the output; the caps are checked before each row is added.
 *
 * A piece of a stream is appended to the last row if that is short, because a row
 * takes more memory than a short text; it is not if that is long, because
 * appending copies the text. Of a stream the beginning is kept: after a piece
 * that did not fit nothing is added, so that there is no gap. A result that is
 * too large removes the one before it, because only the last result may be kept
 * as the result.
 */

#include "transcript.h"

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

static bool is_full(struct transcript *transcript) {
    bool full = json_array_size(transcript->outputs) >= TRANSCRIPT_ROWS;
    transcript->cut |= full;
    return full;
}

static void add_row(json_t **rows, json_t *row) {
    if (!*rows)
        *rows = json_array();
    json_array_append_new(*rows, row);
}

/* The text of the last row, if a piece of this stream can be appended to it; else NULL. */
static json_t *open_text(const struct transcript *transcript, const char *name) {
    enum { JOINED_BYTES = 4096 }; /* appending copies the text */
    size_t n = json_array_size(transcript->outputs);
    const json_t *row = n > 0 ? json_array_get(transcript->outputs, n - 1) : NULL;
    const char *row_name = json_string_value(json_object_get(row, "name"));
    json_t *text = json_object_get(row, "text");
    return row_name && strcmp(row_name, name) == 0 && json_string_length(text) < JOINED_BYTES ? text : NULL;
}

/* Appends a piece to the last row's text, or adds a row. */
static void add_text(struct transcript *transcript, const char *name, const char *data, size_t bytes) {
    json_t *last = open_text(transcript, name);
    json_auto_t *piece = text_to_json(data, bytes);
    auto_bytes joined = {0};
    if (last && piece) {
        bytes_append(&joined, json_string_value(last), json_string_length(last));
        bytes_append(&joined, json_string_value(piece), json_string_length(piece));
        if (bytes_ok(&joined) && json_string_setn(last, joined.data, joined.n) == 0)
            return;
    }
    if (!is_full(transcript))
        add_row(&transcript->outputs,
                json_pack("{s:s, s:s, s:O}", "output_type", "stream", "name", name, "text", piece));
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
        transcript->kept_bytes[stream] = TRANSCRIPT_STREAM_BYTES; /* nothing more is added */
        transcript->cut = true;
    } else {
        transcript->kept_bytes[stream] += kept;
    }
    if (kept > 0)
        add_text(transcript, name, data, kept);
}

/* The number of JSON values in value. Recursive: wire.h limits the depth of a frame. */
static size_t count_values(json_t *value) {
    const char *key;
    json_t *item;
    size_t i, n = 1;
    json_array_foreach(value, i, item) n += count_values(item);
    json_object_foreach(value, key, item) n += count_values(item);
    return n;
}

/* The row for a message. */
static json_t *row_of_message(size_t kind, json_t *content) {
    json_t *row = json_pack("{s:s}", "output_type", kinds[kind].msg_type);
    for (const char *const *field = kinds[kind].fields; *field; field++)
        if (json_object_get(content, *field))
            json_object_set(row, *field, json_object_get(content, *field));
    return row;
}

static void keep(struct transcript *transcript, size_t kind, json_t *content, size_t bytes) {
    size_t values = count_values(content);
    bool fits =
        bytes <= TRANSCRIPT_RICH_BYTES - transcript->rich_bytes && values <= TRANSCRIPT_VALUES - transcript->values;
    if (strcmp(kinds[kind].msg_type, "execute_result") == 0) {
        json_decref(transcript->result);
        transcript->result = fits ? json_incref(json_object_get(content, "data")) : NULL;
        transcript->result_cut = !fits;
    }
    if (!fits || is_full(transcript)) {
        transcript->cut = true;
        return;
    }
    transcript->rich_bytes += bytes;
    transcript->values += values;
    add_row(&transcript->outputs, row_of_message(kind, content));
}

void transcript_message(struct transcript *transcript, const char *msg_type, json_t *content, size_t content_bytes,
                        bool has_buffers) {
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
    if (has_buffers)
        transcript->cut = true;
    keep(transcript, kind, content, content_bytes);
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
