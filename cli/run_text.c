/*
 * run_text.c - `petri run --text`.
 *
 * Into a file or a pipe the bytes of the code's output are written as they are,
 * for other programs; for a terminal they are made safe.
 */

#include "run_text.h"

#include "kernel/base/terminal.h"
#include "protocol/bytes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Where texts of one kind go. */
struct place {
    FILE *file;
    bool is_terminal;
};

static void put(const struct place *place, const json_t *text) {
    auto_bytes safe = {0};
    const char *data = json_string_value(text);
    size_t n = json_string_length(text);
    if (!data || n == 0)
        return;
    if (place->is_terminal) {
        terminal_append(&safe, data, n, false);
        data = safe.data;
        n = safe.n;
    }
    fwrite(data, 1, n, place->file);
}

/* A text that ends its line. */
static void put_lines(const struct place *place, const json_t *text) {
    const size_t n = json_string_length(text);
    put(place, text);
    if (n > 0 && json_string_value(text)[n - 1] != '\n')
        fputc('\n', place->file);
}

static void put_each(const struct place *place, const json_t *texts) {
    size_t i;
    json_t *text;
    json_array_foreach(texts, i, text) {
        put_lines(place, text);
    }
}

static void put_displays(const struct place *place, const json_t *displays) {
    size_t i;
    json_t *display;
    json_array_foreach(displays, i, display) {
        put_lines(place, json_object_get(json_object_get(display, "data"), "text/plain"));
    }
}

/* "petri: ok, 0.12 s, 34 MiB". */
static void put_closing(const json_t *report) {
    const json_t *metrics = json_object_get(report, "metrics");
    const char *outcome = json_string_value(json_object_get(report, "outcome"));
    const double seconds = json_number_value(json_object_get(metrics, "wall_ms")) / 1000;
    const double mib = json_number_value(json_object_get(metrics, "max_memory_bytes")) / (1 << 20);
    terminal_complain("%s, %.2f s, %.0f MiB", outcome ? outcome : "no outcome", seconds, mib);
}

int run_text_put(const json_t *report) {
    const struct place out = {stdout, isatty(STDOUT_FILENO)}, err = {stderr, isatty(STDERR_FILENO)};
    put(&out, json_object_get(report, "stdout"));
    put_displays(&out, json_object_get(report, "displays"));
    put_lines(&out, json_object_get(report, "result"));
    const bool written = fflush(stdout) == 0 && !ferror(stdout);
    put(&err, json_object_get(report, "stderr"));
    put_each(&err, json_object_get(json_object_get(report, "error"), "traceback"));
    put_each(&err, json_object_get(report, "notes"));
    put_closing(report);
    return written ? 0 : -EIO;
}
