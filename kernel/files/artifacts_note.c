/*
 * artifacts_note.c - some lines under a cell that say where its files are, and what of the folder is unchanged.
 *
 * A refused path may have any bytes in it, so invisible characters are replaced.
 * In Markdown each special character is escaped, and in a link all but unreserved
 * characters are percent-encoded.
 */

#include "kernel/files/artifacts.h"

#include "kernel/base/filename.h"
#include "kernel/files/artifact_kind.h"
#include "protocol/bytes.h"
#include "protocol/text.h"

#include <ctype.h>
#include <string.h>

enum { SHOWN = 20 }; /* files that are named */

/* The same text, plain and as Markdown. */
struct note {
    const struct artifacts_note *about;
    struct bytes plain, markdown;
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

/* Where a copy is, below the export folder. */
static const char *below_folder(const struct note *note, const char *copied_to) {
    const char *folder = note->about->folder;
    size_t n = folder ? strlen(folder) : 0;
    return n > 0 && strncmp(copied_to, folder, n) == 0 && copied_to[n] == '/' ? copied_to + n + 1 : copied_to;
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
    const char *to = text_of(row, "copied_to"), *shown = below_folder(note, to);
    bytes_append_text(&note->plain, shown);
    bytes_append_text(&note->markdown, "[");
    add_escaped(&note->markdown, shown);
    bytes_append_text(&note->markdown, "](");
    add_url(&note->markdown, to);
    bytes_append_text(&note->markdown, ")");
    if (text_of(row, "conflict"))
        add_shown(note, row, "conflict");
}

static void add_path(struct note *note, const json_t *row) {
    add_shown(note, row, NULL);
}

static void add_refused(struct note *note, const json_t *row) {
    add_shown(note, row, "refused");
}

/* Python's caches are not named. */
static bool has_text(const json_t *row, const char *key) {
    return text_of(row, key) && !filename_has(text_of(row, "path"), FILENAME_CACHE, true);
}

static bool is_saved(const struct artifacts_note *about, const json_t *row) {
    (void)about;
    return has_text(row, "copied_to");
}

static bool is_removed(const struct artifacts_note *about, const json_t *row) {
    (void)about;
    return json_is_true(json_object_get(row, "removed"));
}

/* Whether the host's folder has such a file still, and so another one than the session. A cell that writes to the
 * export folder has written where its copy is. */
static bool differs(const struct artifacts_note *about, const json_t *row) {
    const char *path = text_of(row, "path"), *to = text_of(row, "copied_to");
    return about->folder && json_object_get(about->on_disk, path) && !(to && strcmp(to, path) == 0) &&
           !filename_has(path, FILENAME_CACHE, true);
}

static bool is_deleted(const json_t *row) {
    return strcmp(text_of(row, "action"), artifact_action(CELL_DELETED)) == 0;
}

static bool is_refused(const struct artifacts_note *about, const json_t *row) {
    return has_text(row, "refused") && !about->off && !is_deleted(row);
}

static bool is_kept(const struct artifacts_note *about, const json_t *row) {
    return has_text(row, "refused") && !about->off && is_deleted(row);
}

static bool is_hidden(const struct artifacts_note *about, const json_t *row) {
    return differs(about, row) && !is_deleted(row);
}

static bool is_gone(const struct artifacts_note *about, const json_t *row) {
    return differs(about, row) && is_deleted(row);
}

struct sentence {
    const char *begin;
    bool (*names)(const struct artifacts_note *about, const json_t *row);
    void (*add)(struct note *note, const json_t *row);
    size_t more;
};

/* Begins a new line for a sentence. */
static void begin_line(struct note *note) {
    if (note->plain.n == 0)
        return;
    bytes_append_text(&note->plain, "\n");
    bytes_append_text(&note->markdown, "  \n");
}

/* "Saved: a, b and 3 more", of the rows that the sentence names. */
static void add_sentence(struct note *note, const struct sentence *sentence, json_t *rows) {
    size_t i, n = 0;
    json_t *row;
    json_array_foreach(rows, i, row) {
        if (!sentence->names(note->about, row) || ++n > SHOWN)
            continue;
        if (n == 1)
            begin_line(note);
        add_both(note, n > 1 ? ", " : sentence->begin);
        sentence->add(note, row);
    }
    size_t more = (n > SHOWN ? n - SHOWN : 0) + sentence->more;
    if (n > 0 && more > 0) {
        char text[48];
        snprintf(text, sizeof text, " and %zu more", more);
        add_both(note, text);
    }
}

/* What holds for all of these files. */
static void add_explanation(struct note *note) {
    const struct artifacts_note *about = note->about;
    begin_line(note);
    add_both(note, "Until the kernel restarts, cells see what they have written here, even if the file on the disk "
                   "changes; after that they see the disk");
    if (about->off) {
        add_both(note, ", to which nothing is copied (\"artifacts\" of the configuration)");
    } else {
        add_both(note, about->strict ? ", without the copies in " : ", with the copies in ");
        bytes_append_text(&note->plain, about->folder);
        add_escaped(&note->markdown, about->folder);
        add_both(note, "/");
    }
    add_both(note, ".");
    if (!about->strict)
        add_both(note, " The kernel \"Python 3 (petri, writable)\" writes to this folder itself.");
}

/* Where nothing is copied no sentence names a file that only the session has; what holds for all is said all the same.
 */
static bool has_unnamed(const json_t *rows, const struct artifacts_note *about) {
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) {
        if (about->off && !is_deleted(row) && !filename_has(text_of(row, "path"), FILENAME_CACHE, true))
            return true;
    }
    return false;
}

json_t *artifacts_make_note(json_t *rows, const struct artifacts_note *about) {
    char saved[PATH_MAX + 32] = "Saved: ";
    struct note note = {.about = about};
    json_t *data = NULL;
    if (about->folder)
        snprintf(saved, sizeof saved, "Saved to %s/: ", about->folder);
    const struct sentence sentences[] = {
        {saved, is_saved, add_saved, about->more.saved},
        {"Removed: ", is_removed, add_path, about->more.removed},
        {"Not saved: ", is_refused, add_refused, about->more.refused},
        {"Not removed: ", is_kept, add_refused, 0},
        {about->beside ? "Your own file on the disk is unchanged, and the session doesn't see the new one: "
                       : "Your own file on the disk is unchanged, and cells see the new one: ",
         is_hidden, add_path, 0},
        {about->beside ? "Removed for this run, not for the session, and still on the disk: "
                       : "Removed for this session's cells, and still on the disk: ",
         is_gone, add_path, 0},
    };
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
        add_sentence(&note, &sentences[i], rows);
    if (about->explains && about->folder && (note.plain.n > 0 || has_unnamed(rows, about)))
        add_explanation(&note);
    if (note.plain.n > 0 && bytes_ok(&note.plain) && bytes_ok(&note.markdown))
        data = json_pack("{s:o, s:o}", "text/plain", text_to_json(note.plain.data, note.plain.n), "text/markdown",
                         text_to_json(note.markdown.data, note.markdown.n));
    bytes_fini(&note.plain);
    bytes_fini(&note.markdown);
    return data;
}
