/*
 * limits_show.c - the table of limits, as text and as HTML with bars.
 *
 * Both are made row by row of the same cells of text. No text comes from outside:
 * names and explanations are those of limit_rows, all else are numbers. The bar is
 * the larger one of what the last cell and the session have used, as a share of
 * what is in force; an element of HTML, so it needs no style of a front end's.
 */

#include "limits_show.h"

#include "base/cleanup.h"
#include "protocol/bytes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum column { NAME, IN_FORCE, CEILING, CELL, SESSION, COLUMN_N };

static const struct {
    const char *title;
    int width; /* of the text */
} columns[COLUMN_N] = {{"limit", -15}, {"in force", -11}, {"ceiling", -11}, {"last cell", -11}, {"session", -11}};

/* The texts of one row. */
struct row {
    char text[COLUMN_N][32];
    double share; /* of the limit; below 0 where nothing is known, or there is no limit */
    const char *help;
};

void limits_used_clear(struct limits_used *ret_used) {
    for (int i = 0; i < LIMIT_N; i++)
        ret_used->cell[i] = ret_used->session[i] = LIMITS_UNUSED;
}

/* A measured value, rounded: "1.2 s", "340 MiB". Returns buf. */
static const char *used_text(enum limit_unit unit, int64_t value, char *buf, size_t size) {
    static const char *const sizes[] = {"bytes", "KiB", "MiB", "GiB"};
    double scaled = (double)value;
    size_t i = 0;
    if (value == LIMITS_UNUSED)
        snprintf(buf, size, "%s", "");
    else if (unit == UNIT_COUNT)
        snprintf(buf, size, "%" PRId64, value);
    else if (unit == UNIT_MS)
        snprintf(buf, size, value < 1000 ? "%.0f ms" : "%.1f s", value < 1000 ? scaled : scaled / 1000);
    else {
        for (; scaled >= 1024 && i + 1 < sizeof sizes / sizeof sizes[0]; i++)
            scaled /= 1024;
        snprintf(buf, size, "%.*f %s", i > 0 && scaled < 10 ? 1 : 0, scaled, sizes[i]);
    }
    return buf;
}

static double share_of(int64_t limit, int64_t cell, int64_t session) {
    const int64_t most = cell > session ? cell : session;
    if (most == LIMITS_UNUSED || limit == LIMITS_NONE || limit <= 0)
        return -1;
    return most < limit ? (double)most / (double)limit : 1;
}

static void make_row(const struct profile *profile, const struct limits *limits, const struct limits_used *used,
                     enum limit limit, struct row *ret_row) {
    const struct limit_row *about = &limit_rows[limit];
    enum { SIZE = sizeof ret_row->text[0] };
    snprintf(ret_row->text[NAME], SIZE, "%s", about->name);
    limits_text(about->unit, limits->values[limit], ret_row->text[IN_FORCE], SIZE);
    limits_text(about->unit, limits_ceiling(profile, limit), ret_row->text[CEILING], SIZE);
    used_text(about->unit, used->cell[limit], ret_row->text[CELL], SIZE);
    used_text(about->unit, used->session[limit], ret_row->text[SESSION], SIZE);
    ret_row->share = share_of(limits->values[limit], used->cell[limit], used->session[limit]);
    ret_row->help = about->help;
}

static void add_text(struct bytes *out, const struct row *row) {
    char text[64];
    for (int i = 0; i < COLUMN_N; i++) {
        snprintf(text, sizeof text, "%*s ", columns[i].width, row->text[i]);
        bytes_append_text(out, text);
    }
    bytes_append_text(out, row->help);
    bytes_append_text(out, "\n");
}

static void add_html(struct bytes *out, const struct row *row, const char *element) {
    char text[256];
    bytes_append_text(out, "<tr>");
    for (int i = 0; i < COLUMN_N; i++) {
        snprintf(text, sizeof text, "<%s>%s</%s>", element, row->text[i], element);
        bytes_append_text(out, text);
    }
    if (row->share >= 0)
        snprintf(text, sizeof text, "<td><progress max=\"1\" value=\"%.3f\"></progress></td>", row->share);
    else
        snprintf(text, sizeof text, "<%s></%s>", element, element);
    bytes_append_text(out, text);
    snprintf(text, sizeof text, "<%s>%s</%s></tr>\n", element, row->help, element);
    bytes_append_text(out, text);
}

json_t *limits_show(const struct profile *profile, const struct limits *limits, const struct limits_used *used) {
    auto_bytes plain = {0}, html = {0};
    struct row row = {.share = -1, .help = "of what"};
    for (int i = 0; i < COLUMN_N; i++)
        snprintf(row.text[i], sizeof row.text[i], "%s", columns[i].title);
    bytes_append_text(&html, "<table>\n");
    add_text(&plain, &row);
    add_html(&html, &row, "th");
    for (int i = 0; i < LIMIT_N; i++) {
        make_row(profile, limits, used, (enum limit)i, &row);
        add_text(&plain, &row);
        add_html(&html, &row, "td");
    }
    bytes_append_text(&html, "</table>");
    if (!bytes_ok(&plain) || !bytes_ok(&html))
        return NULL;
    return json_pack("{s:s%, s:s%}", "text/plain", plain.data, plain.n, "text/html", html.data, html.n);
}
