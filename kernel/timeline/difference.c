/*
 * difference.c - see difference.h.
 *
 * Both lists of names become objects, so that hostile ones with a name twice have one row. At most DIFFERENCE_ROWS_MAX
 * rows are shown of names, and of files; how many more there are is said.
 */

#include "difference.h"

#include "base/cleanup.h"
#include "kernel/base/image_name.h"
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that was compared, because two lists of one length may have nothing in common. */
static const char same_names[] =
    "none is new, gone, or of another type, size or number; what is in the others was not compared";

struct row {
    const char *sign;
    char text[3][DIFFERENCE_TEXT_BYTES]; /* name, before, after */
};

struct rows {
    struct row *row; /* DIFFERENCE_ROWS_MAX of them; owned */
    size_t n, n_more;
};

static struct row *add_row(struct rows *rows, const char *sign, const char *name, size_t bytes) {
    if (rows->n == DIFFERENCE_ROWS_MAX) {
        rows->n_more++;
        return NULL;
    }
    struct row *row = &rows->row[rows->n++];
    *row = (struct row){.sign = sign};
    image_name_line(name, bytes, row->text[0], sizeof row->text[0]);
    return row;
}

/* "list, 3 items", of [name, type, size]. */
static void tell(const json_t *of, char buf[DIFFERENCE_TEXT_BYTES]) {
    const json_t *type = json_array_get(of, 1), *size = json_array_get(of, 2);
    char line[DIFFERENCE_TEXT_BYTES / 2 - 4];
    image_name_line(json_string_value(type), json_string_length(type), line, sizeof line);
    int n = snprintf(buf, DIFFERENCE_TEXT_BYTES, "%s", line);
    image_name_line(json_string_value(size), json_string_length(size), line, sizeof line);
    if (line[0])
        snprintf(buf + n, DIFFERENCE_TEXT_BYTES - (size_t)n, "%s%s", n > 0 ? ", " : "", line);
}

/* {name: [name, type, size]}. */
static json_t *index_of(const json_t *names) {
    json_t *index = json_object();
    size_t i;
    json_t *of;
    json_array_foreach(names, i, of) {
        const json_t *name = json_array_get(of, 0);
        if (json_is_string(name) && json_is_string(json_array_get(of, 1)) && json_is_string(json_array_get(of, 2)))
            json_object_setn(index, json_string_value(name), json_string_length(name), of);
    }
    return index;
}

static void add_name(struct rows *rows, const json_t *before, const json_t *after) {
    const json_t *name = json_array_get(after ? after : before, 0);
    if (before && after && json_equal(before, after))
        return;
    struct row *row = add_row(rows,
                              !before ? "+"
                              : after ? "~"
                                      : "-",
                              json_string_value(name), json_string_length(name));
    if (row && before)
        tell(before, row->text[1]);
    if (row && after)
        tell(after, row->text[2]);
}

static void add_names(struct rows *rows, const json_t *const names[2]) {
    json_auto_t *before = index_of(names[0]);
    json_auto_t *after = index_of(names[1]);
    const char *key;
    size_t bytes;
    json_t *of;
    json_object_keylen_foreach(after, key, bytes, of) {
        add_name(rows, json_object_getn(before, key, bytes), of);
    }
    json_object_keylen_foreach(before, key, bytes, of) {
        if (!json_object_getn(after, key, bytes))
            add_name(rows, of, NULL);
    }
}

static void add_files(struct rows *rows, const json_t *files) {
    size_t i;
    json_t *file;
    json_array_foreach(files, i, file) {
        const json_t *path = json_object_get(file, "path");
        const char *sign = json_string_value(json_object_get(file, "change"));
        struct row *row = add_row(rows, sign, json_string_value(path), json_string_length(path));
        if (row && sign[0] != '-')
            table_size((uint64_t)json_integer_value(json_object_get(file, "bytes")), row->text[2], sizeof row->text[2]);
    }
}

static void put_rows(const struct rows *rows, struct bytes *plain, struct bytes *html) {
    size_t width[3] = {0};
    char more[64];
    for (size_t i = 0; i < rows->n; i++)
        for (int k = 0; k < 3; k++)
            width[k] = table_width(rows->row[i].text[k]) > width[k] ? table_width(rows->row[i].text[k]) : width[k];
    bytes_append_text(html, "<table>\n");
    for (size_t i = 0; i < rows->n; i++) {
        table_add_padded(plain, rows->row[i].sign, 0);
        bytes_append_text(html, "<tr><td>");
        bytes_append_text(html, rows->row[i].sign);
        for (int k = 0; k < 3; k++) {
            table_add_padded(plain, rows->row[i].text[k], width[k]);
            bytes_append_text(html, k == 0 ? "</td><td><code>" : "</td><td>");
            table_add_escaped(html, rows->row[i].text[k]);
            bytes_append_text(html, k == 0 ? "</code>" : "");
        }
        table_end_line(plain);
        bytes_append_text(html, "</td></tr>\n");
    }
    bytes_append_text(html, "</table>\n");
    if (rows->n_more == 0)
        return;
    snprintf(more, sizeof more, "and %zu more\n", rows->n_more);
    bytes_append_text(plain, more);
    bytes_append_text(html, more);
}

/* A line of text, and a paragraph. */
static void put_line(const char *text, struct bytes *plain, struct bytes *html) {
    bytes_append_text(plain, text);
    bytes_append_text(plain, "\n");
    bytes_append_text(html, "<p>");
    table_add_escaped(html, text);
    bytes_append_text(html, "</p>\n");
}

/* A list with its title; instead: what is said where there is none. */
static void put_list(const struct rows *rows, const char *title, const char *instead, struct bytes *plain,
                     struct bytes *html) {
    char line[256];
    snprintf(line, sizeof line, rows->n == 0 ? "%s: %s" : "%s:", title, instead);
    put_line(line, plain, html);
    if (rows->n > 0)
        put_rows(rows, plain, html);
}

json_t *difference_show(const struct difference *difference) {
    const bool named = difference->names[0] && difference->names[1];
    auto_bytes plain = {0}, html = {0};
    auto_free struct row *row = calloc(DIFFERENCE_ROWS_MAX, sizeof *row);
    struct rows names = {.row = row};
    if (!row)
        return NULL;
    put_line(difference->title, &plain, &html);
    if (named)
        add_names(&names, difference->names);
    put_list(&names, "Names", named ? same_names : difference->why, &plain, &html);
    struct rows files = {.row = row};
    add_files(&files, difference->files);
    put_list(&files, "Files", difference->files ? "none differs" : "they can't be told", &plain, &html);
    if (difference->is_cut)
        put_line("There are more names or files than are compared: 2,000 of each.", &plain, &html);
    if (!bytes_ok(&plain) || !bytes_ok(&html))
        return NULL;
    return json_pack("{s:s%, s:s%}", "text/plain", plain.data, plain.n, "text/html", html.data, html.n);
}
