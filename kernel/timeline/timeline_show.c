/*
 * timeline_show.c - the table of a timeline, row by row of the same cells of text.
 *
 * Lines of code and names come from cells and clients. They were made visible
 * UTF-8, and are escaped for HTML here. The rows' texts are made twice, once for the
 * widths of the columns, so that no more than one row is in memory beside the table.
 */

#include "timeline_show.h"

#include "protocol/bytes.h"
#include "table.h"
#include "timeline_tree.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The last one is left out where all its cells are empty. */
enum column { TREE, NOW, LINE, WHEN, TOOK, MEMORY, FILES, NAMES, ID, COLUMN_N };

static const char *const titles[COLUMN_N] = {"cell",   "now",   "first line", "when", "took",
                                             "memory", "files", "names",      "id"};

enum {
    CELL_BYTES = 256,
    SAID_BYTES = 40, /* of a line of code in a sentence, with the NUL */
    MS_OF_SECOND = 1000,
    MS_OF_MINUTE = 60 * MS_OF_SECOND,
    MS_OF_HOUR = 60 * MS_OF_MINUTE,
    MS_OF_DAY = 24 * MS_OF_HOUR,
};

_Static_assert((int)CELL_BYTES >= (int)TIMELINE_TREE_BYTES && (int)CELL_BYTES >= (int)TIMELINE_LINE_BYTES,
               "a cell has room for each text");

/* The texts of one row. */
struct row {
    char text[COLUMN_N][CELL_BYTES];
    bool is_current;
};

/* How long ago something was. A clock that was set back makes it just now. */
static void ago_text(int64_t ms, char *buf, size_t size) {
    if (ms < MS_OF_MINUTE)
        snprintf(buf, size, "just now");
    else if (ms < MS_OF_HOUR)
        snprintf(buf, size, "%" PRId64 " min ago", ms / MS_OF_MINUTE);
    else if (ms < 2 * MS_OF_DAY)
        snprintf(buf, size, "%" PRId64 " h ago", ms / MS_OF_HOUR);
    else
        snprintf(buf, size, "%" PRId64 " days ago", ms / MS_OF_DAY);
}

static void took_text(int64_t ms, char *buf, size_t size) {
    if (ms < MS_OF_SECOND)
        snprintf(buf, size, "%" PRId64 " ms", ms);
    else if (ms < MS_OF_MINUTE)
        snprintf(buf, size, "%" PRId64 ".%" PRId64 " s", ms / MS_OF_SECOND, ms % MS_OF_SECOND / 100);
    else if (ms < MS_OF_HOUR)
        snprintf(buf, size, "%" PRId64 " min %" PRId64 " s", ms / MS_OF_MINUTE, ms % MS_OF_MINUTE / MS_OF_SECOND);
    else
        snprintf(buf, size, "%" PRId64 " h %" PRId64 " min", ms / MS_OF_HOUR, ms % MS_OF_HOUR / MS_OF_MINUTE);
}

/* A node's names, as many as there is room for. */
static void names_text(const struct timeline_node *node, char *buf, size_t size) {
    static const char more[] = ", …";
    char name[IMAGE_NAME_BYTES + 1];
    size_t used = 0;
    for (size_t i = 0; i < json_array_size(node->names); i++) {
        const json_t *text = json_array_get(node->names, i);
        image_name_line(json_string_value(text), json_string_length(text), name, sizeof name);
        if (used + strlen(", ") + strlen(name) + sizeof more > size) {
            snprintf(buf + used, size - used, "%s", more);
            return;
        }
        used += (size_t)snprintf(buf + used, size - used, "%s%s", i > 0 ? ", " : "", name);
    }
}

/* Whether the number of its cell doesn't say which node is meant. */
static bool needs_id(const struct timeline *timeline, const struct timeline_node *node) {
    size_t n = 0;
    for (size_t i = 0; i < timeline->n; i++)
        n += timeline->node[i]->execution_count == node->execution_count;
    return node->image && node->parent_id[0] && (n > 1 || node->execution_count == 0);
}

/* Whether one can go there, or is there. */
static bool is_there(const struct timeline *timeline, const struct timeline_node *node) {
    return node->image || (timeline_shown(timeline->current) == node && timeline->current->image);
}

static void make_row(const struct timeline *timeline, const struct timeline_tree_row *tree, int64_t now_ms,
                     struct row *ret_row) {
    const struct timeline_node *node = tree->node;
    char(*text)[CELL_BYTES] = ret_row->text;
    char size[32];
    for (int i = 0; i < COLUMN_N; i++)
        text[i][0] = '\0';
    const bool is_kept = is_there(timeline, node);
    ret_row->is_current = node == timeline_shown(timeline->current);
    timeline_tree_text(tree, text[TREE], CELL_BYTES);
    snprintf(text[NOW], CELL_BYTES, "%s%s%s", ret_row->is_current ? "*" : "",
             ret_row->is_current && !is_kept ? " " : "", is_kept ? "" : "gone");
    snprintf(text[LINE], CELL_BYTES, "%s", node->line);
    if (node->started_ms > 0) {
        ago_text(now_ms - node->started_ms, text[WHEN], CELL_BYTES);
        took_text(node->wall_ms, text[TOOK], CELL_BYTES);
    }
    if (node->bytes_changed > 0)
        snprintf(text[MEMORY], CELL_BYTES, "+%s", table_size(node->bytes_changed, size, sizeof size));
    if (node->files_changed > 0)
        table_count(node->files_changed, "file", text[FILES], CELL_BYTES);
    names_text(node, text[NAMES], CELL_BYTES);
    if (needs_id(timeline, node))
        timeline_short_id(timeline, node, text[ID]);
}

static void make_titles(struct row *ret_row) {
    ret_row->is_current = false;
    for (int i = 0; i < COLUMN_N; i++)
        snprintf(ret_row->text[i], CELL_BYTES, "%s", titles[i]);
}

static void widen(const struct row *row, size_t width[COLUMN_N]) {
    for (int i = 0; i < COLUMN_N; i++) {
        const size_t needed = table_width(row->text[i]);
        width[i] = needed > width[i] ? needed : width[i];
    }
}

static int count_columns(const size_t width[COLUMN_N]) {
    return width[ID] > 0 ? COLUMN_N : ID;
}

static void add_text(struct bytes *out, const struct row *row, const size_t width[COLUMN_N]) {
    for (int i = 0; i < count_columns(width); i++)
        table_add_padded(out, row->text[i], width[i]);
    table_end_line(out);
}

/* With spaces that stay, and as wide in each row: so it lines up, whether a front end aligns it left or right. */
static void add_tree(struct bytes *out, const char *text, size_t width) {
    static const char space[] = "\u00a0";
    for (const char *at = text; *at; at++)
        if (*at == ' ')
            bytes_append_text(out, space);
        else
            bytes_append(out, at, 1);
    for (size_t n = table_width(text); n < width; n++)
        bytes_append_text(out, space);
}

static void add_html(struct bytes *out, const struct row *row, bool is_title, const size_t width[COLUMN_N]) {
    bytes_append_text(out, "<tr>");
    for (int i = 0; i < count_columns(width); i++) {
        const bool is_code = i == TREE || i == LINE || i == ID;
        bytes_append_text(out, is_title ? "<th>" : "<td>");
        bytes_append_text(out, row->is_current ? "<b>" : "");
        bytes_append_text(out, is_code ? "<code>" : "");
        if (i == TREE)
            add_tree(out, row->text[i], width[i]);
        else
            table_add_escaped(out, row->text[i]);
        bytes_append_text(out, is_code ? "</code>" : "");
        bytes_append_text(out, row->is_current ? "</b>" : "");
        bytes_append_text(out, is_title ? "</th>" : "</td>");
    }
    bytes_append_text(out, "</tr>\n");
}

json_t *timeline_show(const struct timeline *timeline, int64_t now_ms) {
    auto_free struct timeline_tree_row *rows = timeline_tree_rows(timeline);
    auto_bytes plain = {0}, html = {0};
    size_t width[COLUMN_N] = {0};
    struct row row;
    if (!rows)
        return NULL;
    for (size_t i = 0; rows[i].node; i++) {
        make_row(timeline, &rows[i], now_ms, &row);
        widen(&row, width);
    }
    make_titles(&row);
    if (width[ID] == 0)
        row.text[ID][0] = '\0';
    widen(&row, width);
    bytes_append_text(&html, "<table>\n");
    add_text(&plain, &row, width);
    add_html(&html, &row, true, width);
    for (size_t i = 0; rows[i].node; i++) {
        make_row(timeline, &rows[i], now_ms, &row);
        add_text(&plain, &row, width);
        add_html(&html, &row, false, width);
    }
    bytes_append_text(&html, "</table>");
    if (!bytes_ok(&plain) || !bytes_ok(&html))
        return NULL;
    return json_pack("{s:s%, s:s%}", "text/plain", plain.data, plain.n, "text/html", html.data, html.n);
}

static json_t *node_json(const struct timeline *timeline, const struct timeline_node *node) {
    const struct timeline_node *parent = timeline_shown(node->parent);
    const char *parent_id = parent ? parent->id : node->parent_id;
    json_t *count = node->execution_count > 0 ? json_integer(node->execution_count) : json_null();
    const uint64_t bytes = node->bytes_changed < INT64_MAX ? node->bytes_changed : INT64_MAX;
    return json_pack("{s:s, s:s?, s:s, s:o, s:s, s:o, s:I, s:I, s:I, s:s, s:b}", "image", node->id, "parent",
                     parent_id[0] ? parent_id : NULL, "run_id", node->id, "execution_count", count, "code_first_line",
                     node->line, "names", json_copy(node->names), "bytes_changed", (json_int_t)bytes, "files_changed",
                     (json_int_t)node->files_changed, "wall_ms", (json_int_t)node->wall_ms, "started", node->started,
                     "kept", is_there(timeline, node));
}

json_t *timeline_json(const struct timeline *timeline) {
    json_auto_t *array = json_array();
    for (size_t i = 0; i < timeline->n; i++) {
        const struct timeline_node *node = timeline->node[i];
        if (timeline_shown(node) == node && json_array_append_new(array, node_json(timeline, node)) < 0)
            return NULL;
    }
    return steal_pointer(array);
}

/* The first cell that is undone, in the order of running, of those that have a number; the first one where none has. */
static const struct timeline_node *first_undone(const struct timeline *timeline, const struct timeline_node *ancestor) {
    const struct timeline_node *first = timeline->current;
    for (const struct timeline_node *node = timeline->current; node && node != ancestor; node = node->parent)
        if (node->execution_count > 0 || first->execution_count == 0)
            first = node;
    return first;
}

/* " before [7]", whose first words are in before; "" for number 0. Returns buf. */
static const char *number_text(const char *before, int number, char *buf, size_t size) {
    buf[0] = '\0';
    if (number > 0)
        snprintf(buf, size, "%s[%d]", before, number);
    return buf;
}

/* " ("x = 1")" of one cell, " (from "x = 1" on)" of more: what is undone, by the first line of the first; "" where that
 * has none. Returns buf. */
static const char *code_text(const struct timeline_way *way, const struct timeline_node *first, char *buf,
                             size_t size) {
    char line[SAID_BYTES];
    const bool is_one = way->cells == 1;
    image_name_line(first->line, strlen(first->line), line, sizeof line);
    buf[0] = '\0';
    if (line[0])
        snprintf(buf, size, " (%s\"%s\"%s)", is_one ? "" : "from ", line, is_one ? "" : " on");
    return buf;
}

/* "2 cells (from "x = 1" on), 1 file, 340 MiB of memory": what is undone. Returns buf. */
static const char *undone_text(const struct timeline_way *way, const struct timeline_node *first, char *buf,
                               size_t size) {
    char cells[32], code[SAID_BYTES + 16], files[32], bytes[32];
    table_count(way->cells, "cell", cells, sizeof cells);
    table_count(way->files, "file", files, sizeof files);
    table_size(way->bytes, bytes, sizeof bytes);
    code_text(way, first, code, sizeof code);
    snprintf(buf, size, "%s%s%s%s%s%s%s", cells, code, way->files > 0 ? ", " : "", way->files > 0 ? files : "",
             way->bytes > 0 ? ", " : "", way->bytes > 0 ? bytes : "", way->bytes > 0 ? " of memory" : "");
    return buf;
}

const char *timeline_tell_way(const struct timeline *timeline, const struct timeline_node *node, char *buf,
                              size_t size) {
    struct timeline_way way;
    char number[32], undone[192], again[32], cells[32];
    const int count = timeline_shown(node)->execution_count;
    const struct timeline_node *first = first_undone(timeline, node);
    timeline_measure_way(timeline, node, &way);
    undone_text(&way, first, undone, sizeof undone);
    table_count(way.cells, "cell", cells, sizeof cells);
    table_count(way.again, "cell", again, sizeof again);
    if (node == timeline->current)
        snprintf(buf, size, "nothing changes: this is the %s%s", count > 0 ? "state" : "present state",
                 number_text(" after ", count, number, sizeof number));
    else if (way.cells + way.again == 0)
        snprintf(buf, size, "at the state%s, %s what was changed outside of cells since",
                 number_text(" after ", count, number, sizeof number), node->amends ? "with" : "without");
    else if (timeline_shown(node)->parent_id[0] == '\0')
        snprintf(buf, size, "back at the beginning: %s", undone);
    else if (way.again == 0)
        snprintf(buf, size, "back%s: %s", number_text(" before ", first->execution_count, number, sizeof number),
                 undone);
    else if (way.cells == 0)
        snprintf(buf, size, "on%s: %s", number_text(" to ", count, number, sizeof number), again);
    else
        snprintf(buf, size, "%s%son another branch: %s undone, %s again",
                 number_text("at ", count, number, sizeof number), count > 0 ? ", " : "", cells, again);
    return buf;
}
