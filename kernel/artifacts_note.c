/*
 * artifacts_note.c - one line under a cell that says where its files are.
 */
#include "artifacts.h"

#include "kernel/filename.h"
#include "protocol/bytes.h"
#include "protocol/text.h"

#include <ctype.h>
#include <string.h>

enum { SHOWN = 20 }; /* files that are named */

/* The same words in both of their forms. */
struct note {
    struct bytes plain, markdown;
    size_t n; /* files of the sentence that is being written */
};

static void add_both(struct note *note, const char *text) {
    bytes_append_text(&note->plain, text);
    bytes_append_text(&note->markdown, text);
}

/* Text as it is, where Markdown would see marks. */
static void add_escaped(struct bytes *out, const char *text) {
    for (; *text; text++) {
        if (strchr("\\`*_{}[]()<>#+-!|~&$:", *text))
            bytes_append_text(out, "\\");
        bytes_append(out, text, 1);
    }
}

/* A path as a link has it. See: RFC 3986, 2.3, "Unreserved Characters". */
static void add_url(struct bytes *out, const char *path) {
    for (; *path; path++) {
        char hex[4];
        bool plain = isalnum((unsigned char)*path) || strchr("-._~/", *path);
        snprintf(hex, sizeof hex, plain ? "%c" : "%%%02X", plain ? *path : (unsigned char)*path);
        bytes_append_text(out, hex);
    }
}

static const char *text_of(const json_t *row, const char *key) {
    return json_string_value(json_object_get(row, key));
}

static void add_saved(struct note *note, const json_t *row) {
    const char *to = text_of(row, "copied_to"), *slash = strrchr(to, '/');
    bytes_append_text(&note->plain, to);
    bytes_append_text(&note->markdown, "[");
    add_escaped(&note->markdown, slash ? slash + 1 : to);
    bytes_append_text(&note->markdown, "](");
    add_url(&note->markdown, to);
    bytes_append_text(&note->markdown, ")");
}

static void add_refused(struct note *note, const json_t *row) {
    char shown[FILENAME_PATH_BYTES];
    filename_shown(text_of(row, "path"), shown, sizeof shown);
    const char *const texts[] = {shown, " (", text_of(row, "refused"), ")"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bytes_append_text(&note->plain, texts[i]);
        add_escaped(&note->markdown, texts[i]);
    }
}

/* Whether a row belongs into a sentence; what Python keeps for itself is nobody's loss. */
static bool belongs(const json_t *row, const char *key) {
    return text_of(row, key) && !filename_has(text_of(row, "path"), FILENAME_CACHE, true);
}

/* "Saved: a, b and 3 more", of the rows that have key. */
static void add_sentence(struct note *note, const char *begin, json_t *rows, size_t omitted, const char *key,
                         void (*add)(struct note *note, const json_t *row)) {
    size_t i, n = 0;
    json_t *row;
    json_array_foreach(rows, i, row) {
        if (!belongs(row, key) || ++n > SHOWN)
            continue;
        add_both(note, n > 1 ? ", " : begin);
        add(note, row);
    }
    size_t more = (n > SHOWN ? n - SHOWN : 0) + omitted;
    if (n > 0 && more > 0) {
        char text[48];
        snprintf(text, sizeof text, " and %zu more", more);
        add_both(note, text);
    }
    note->n = n;
}

json_t *artifacts_note(json_t *rows, size_t omitted) {
    struct note note = {0};
    add_sentence(&note, "Saved: ", rows, 0, "copied_to", add_saved);
    struct note refused = {0};
    add_sentence(&refused, "Not saved: ", rows, omitted, "refused", add_refused);
    if (note.n > 0 && refused.n > 0) {
        bytes_append_text(&note.plain, "\n");
        bytes_append_text(&note.markdown, "  \n");
    }
    bytes_append(&note.plain, refused.plain.data, refused.plain.n);
    bytes_append(&note.markdown, refused.markdown.data, refused.markdown.n);
    json_t *data = NULL;
    if (note.plain.n > 0 && bytes_ok(&note.plain) && bytes_ok(&note.markdown))
        data = json_pack("{s:o, s:o}", "text/plain", text_to_json(note.plain.data, note.plain.n), "text/markdown",
                         text_to_json(note.markdown.data, note.markdown.n));
    bytes_fini(&note.plain);
    bytes_fini(&note.markdown);
    bytes_fini(&refused.plain);
    bytes_fini(&refused.markdown);
    return data;
}
