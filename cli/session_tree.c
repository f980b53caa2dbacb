/*
 * session_tree.c - looks for ways in a session's runs, and draws them as %timeline does (kernel/timeline/).
 *
 * Another program may have changed the records: a parent may be missing, or later
 * than its child. Such a run begins a line of its own, and no way is longer than
 * there are runs.
 */

#include "session_tree.h"

#include "kernel/base/terminal.h"
#include "kernel/timeline/table.h"
#include "kernel/timeline/timeline_tree.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ID_SHOWN = 8, TEXT_SHOWN = 64 };

enum session_left session_left(const json_t *run) {
    const json_t *image = json_object_get(run, "image");
    const char *own = text_in(run, "run_id");
    if (json_is_string(image))
        return strcmp(json_string_value(image), own) == 0 ? SESSION_LEFT_ITS_OWN : SESSION_LEFT_EARLIER;
    return json_is_boolean(json_object_get(run, "committed")) ? SESSION_LEFT_NONE : SESSION_LEFT_UNKNOWN;
}

bool session_is_line(const json_t *run) {
    return session_left(run) == SESSION_LEFT_EARLIER && json_is_false(json_object_get(run, "committed"));
}

bool session_is_branch(const json_t *run) {
    return session_left(run) == SESSION_LEFT_ITS_OWN && json_is_false(json_object_get(run, "committed"));
}

int session_runs(struct records *records, const char *prefix, int64_t limit, json_t **ret_runs) {
    json_auto_t *runs = NULL;
    int r = records_of_session(records, prefix, limit, &runs);
    if (r == 0 && json_array_size(runs) == 0)
        r = -ENOENT;
    if (r == -ENOENT)
        terminal_complain("there is no session %s; petri runs lists them", prefix);
    else if (r == -ENOTUNIQ)
        terminal_complain("there are several sessions whose id begins with %s; give more of it", prefix);
    else if (r < 0)
        terminal_complain("the run records can't be read");
    if (r == 0)
        *ret_runs = json_incref(runs);
    return r;
}

/* {run id: row}, of rows that are borrowed. */
static json_t *index_of(const json_t *runs) {
    json_t *index = json_object();
    size_t i;
    json_t *run;
    json_array_foreach(runs, i, run) {
        json_object_set(index, text_in(run, "run_id"), run);
    }
    return index;
}

static json_t *first_step(void) {
    return json_pack("{s:s, s:n, s:n}", "image", SESSION_FIRST, "execution_count", "summary");
}

static json_t *step_of(const json_t *run) {
    json_t *count = json_object_get(run, "execution_count");
    const bool has_count = json_integer_value(count) > 0;
    return json_pack("{s:O, s:o, s:O}", "image", json_object_get(run, "run_id"), "execution_count",
                     has_count ? json_incref(count) : json_null(), "summary", json_object_get(run, "summary"));
}

json_t *session_path(const json_t *runs, const char *image) {
    json_auto_t *index = index_of(runs);
    json_auto_t *path = json_array();
    const char *at = image;
    for (size_t n = 0; n <= json_array_size(runs); n++) {
        const json_t *run = json_object_get(index, at);
        const bool is_first = strcmp(at, SESSION_FIRST) == 0;
        if (!is_first && !run)
            break;
        if (json_array_insert_new(path, 0, is_first ? first_step() : step_of(run)) < 0)
            return NULL;
        if (is_first)
            break;
        at = text_in(run, "parent");
    }
    return json_incref(path);
}

/* The tree of runs in a timeline without images. 0 or -ENOMEM. */
static int grow(struct timeline *timeline, const json_t *runs) {
    const struct timeline_state nothing = {0};
    const char *now = SESSION_FIRST;
    size_t i;
    json_t *run;
    int r = timeline_begin(timeline, NULL, &nothing);
    json_array_foreach(runs, i, run) {
        const enum session_left left = session_left(run);
        const char *parent = text_in(run, "parent");
        const struct timeline_cell cell = {.run_id = text_in(run, "run_id"),
                                           .execution_count =
                                               (int)json_integer_value(json_object_get(run, "execution_count")),
                                           .started = ""};
        if (r == 0 && left != SESSION_LEFT_EARLIER)
            r = timeline_add_recorded(timeline, &cell, parent[0] ? parent : "?");
        if ((left == SESSION_LEFT_ITS_OWN && !session_is_branch(run)) || left == SESSION_LEFT_EARLIER)
            now = text_in(run, "image");
    }
    for (size_t n = 0; r == 0 && n < timeline->n; n++)
        if (strcmp(timeline->node[n]->id, now) == 0)
            timeline_go(timeline, timeline->node[n]);
    return r;
}

/* Writes at most so many bytes of a text, and spaces up to the next column. */
static void put_cell(const char *text, int most, int wide) {
    char part[TIMELINE_TREE_BYTES];
    snprintf(part, sizeof part, "%.*s",
             (int)text_whole_utf8(text, (size_t)most < strlen(text) ? (size_t)most : strlen(text)), text);
    terminal_put_line(part);
    terminal_print("%*s", wide > (int)table_width(part) ? wide - (int)table_width(part) : 1, "");
}

/* "kept", the name that the run gave its state, or "". */
static const char *state_text(const json_t *run) {
    const char *name = text_in(run, "checkpoint");
    const bool is_own = session_left(run) == SESSION_LEFT_ITS_OWN;
    return !is_own ? "" : name[0] ? name : "kept";
}

static void put_row(const struct timeline_tree_row *row, bool is_current, const json_t *run, int wide) {
    char text[TIMELINE_TREE_BYTES], time[32] = "";
    const char *started = text_in(run, "started");
    snprintf(time, sizeof time, "%.1f s", json_number_value(json_object_get(run, "wall_ms")) / 1000);
    put_cell(timeline_tree_text(row, text, sizeof text), sizeof text - 1, wide);
    put_cell(is_current ? "*" : "", 1, 5);
    if (!run) {
        terminal_print("\n");
        return;
    }
    put_cell(text_in(run, "run_id"), ID_SHOWN, ID_SHOWN + 2);
    put_cell(strlen(started) > 11 ? started + 11 : "", 8, 15);
    put_cell(text_in(run, "outcome"), TEXT_SHOWN, 13);
    terminal_print("%10s  ", time);
    put_cell(state_text(run), TEXT_SHOWN, 12);
    terminal_put_line(text_in(run, "summary"));
    terminal_print("\n");
}

static void put_rows(const struct timeline *timeline, const struct timeline_tree_row *rows, const json_t *runs) {
    json_auto_t *index = index_of(runs);
    char text[TIMELINE_TREE_BYTES];
    int wide = (int)strlen("cell");
    for (size_t i = 0; rows[i].node; i++) {
        const int width = (int)table_width(timeline_tree_text(&rows[i], text, sizeof text));
        wide = width > wide ? width : wide;
    }
    terminal_print("%-*s  %-3s  %-8s  %-13s  %-11s  %10s  %-10s  %s\n", wide, "cell", "now", "run", "started (UTC)",
                   "outcome", "time", "state", "code");
    for (size_t i = 0; rows[i].node; i++)
        put_row(&rows[i], rows[i].node == timeline->current, json_object_get(index, rows[i].node->id), wide + 2);
}

static void keep_image(void *arg, struct kept_image *image) {
    (void)arg;
    (void)image; /* there is none */
}

int session_tree_put(const json_t *runs) {
    struct timeline timeline;
    timeline_init(&timeline, keep_image, NULL);
    int r = grow(&timeline, runs);
    auto_free struct timeline_tree_row *rows = r == 0 ? timeline_tree_rows(&timeline) : NULL;
    if (rows)
        put_rows(&timeline, rows, runs);
    else
        terminal_complain("there is no memory to draw the session");
    timeline_fini(&timeline);
    return rows ? 0 : -ENOMEM;
}
