/*
 * artifacts_note.c - one line under a cell that says where its files are.
 *
 * A refused path may have any bytes in it, so invisible characters are replaced.
 * In Markdown each special character is escaped, and in a link all but unreserved
 * characters are percent-encoded.
 */

#include "kernel/files/artifacts.h"

#include "kernel/base/filename.h"
#include "protocol/bytes.h"
#include "protocol/text.h"

#include <ctype.h>
#include <string.h>

enum { SHOWN = 20 }; /* files that are named */

/* The same text, plain and as Markdown. */
struct note {
    struct bytes plain, markdown;
    size_t n; /* files that the current sentence names */
};

static void add_both(struct note *note, const char *text) {
    bytes_append_text(&note->plain, text);
    bytes_append_text(&note->markdown, text);
}

/* Adds text with Markdown's special characters escaped. */
static void add_escaped(struct bytes *out, const char *text) {
    for (; *text; text++) {
        if (strchr("\\`*_{}[]()<>#+-!|~&$:", *text))
            bytes_append_text(out, "\\");
        bytes_append(out, text, 1);
    }
}

/* Adds a path, percent-encoded for a link. See: RFC 3986, 2.3, "Unreserved Characters". */
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

/* Adds a row's path, and the value of a key in parentheses; for "conflict" the copy's path and the original one. */
static void add_shown(struct note *note, const json_t *row, const char *key) {
    char shown[FILENAME_PATH_BYTES];
    const bool conflict = key && strcmp(key, "conflict") == 0;
    filename_shown(text_of(row, "path"), shown, sizeof shown);
    const char *const texts[] = {conflict ? " (" : "", shown,
                                 !key       ? ""
                                 : conflict ? ": "
                                            : " (",
                                 key ? text_of(row, key) : "", key ? ")" : ""};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bytes_append_text(&note->plain, texts[i]);
        add_escaped(&note->markdown, texts[i]);
    }
}

static void add_saved(struct note *note, const json_t *row) {
    const char *to = text_of(row, "copied_to"), *slash = strrchr(to, '/');
    bytes_append_text(&note->plain, to);
    bytes_append_text(&note->markdown, "[");
    add_escaped(&note->markdown, slash ? slash + 1 : to);
    bytes_append_text(&note->markdown, "](");
    add_url(&note->markdown, to);
    bytes_append_text(&note->markdown, ")");
    if (text_of(row, "conflict"))
        add_shown(note, row, "conflict");
}

static void add_removed(struct note *note, const json_t *row) {
    add_shown(note, row, NULL);
}

static void add_refused(struct note *note, const json_t *row) {
    add_shown(note, row, "refused");
}

/* Whether a row is named in a sentence; Python's caches are not. */
static bool belongs(const json_t *row, const char *key) {
    return json_is_true(json_object_get(row, key)) ||
           (text_of(row, key) && !filename_has(text_of(row, "path"), FILENAME_CACHE, true));
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

/* Begins a new line for a sentence. */
static void begin_line(struct note *note) {
    if (note->plain.n == 0)
        return;
    bytes_append_text(&note->plain, "\n");
    bytes_append_text(&note->markdown, "  \n");
}

json_t *artifacts_note(json_t *rows, const struct artifacts_more *more) {
    const struct {
        const char *begin, *key;
        void (*add)(struct note *note, const json_t *row);
        size_t more;
    } sentences[] = {
        {"Saved: ", "copied_to", add_saved, more->saved},
        {"Removed: ", "removed", add_removed, more->removed},
        {"Not saved: ", "refused", add_refused, more->refused},
    };
    enum { N = sizeof sentences / sizeof sentences[0] };
    struct note note = {0};
    for (size_t i = 0; i < N; i++) {
        struct note next = {0};
        add_sentence(&next, sentences[i].begin, rows, sentences[i].more, sentences[i].key, sentences[i].add);
        if (next.n > 0)
            begin_line(&note);
        bytes_append(&note.plain, next.plain.data, next.plain.n);
        bytes_append(&note.markdown, next.markdown.data, next.markdown.n);
        bytes_fini(&next.plain);
        bytes_fini(&next.markdown);
    }
    json_t *data = NULL;
    if (note.plain.n > 0 && bytes_ok(&note.plain) && bytes_ok(&note.markdown))
        data = json_pack("{s:o, s:o}", "text/plain", text_to_json(note.plain.data, note.plain.n), "text/markdown",
                         text_to_json(note.markdown.data, note.markdown.n));
    bytes_fini(&note.plain);
    bytes_fini(&note.markdown);
    return data;
}
