/*
 * failure.c - removes colours from a traceback, and finds "Cell In[N], line L" in it.
 *
 * The text comes from the worker, so a cell can fake any line. It is for people
 * and for programs that correct code; the kernel decides nothing by it. Only
 * frames with the cell's own number count, the innermost first.
 *
 * See: ECMA-48, 5.4, "Control sequences".
 */

#include "failure.h"

#include "protocol/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 200,      /* of a traceback, the last ones */
    LINE_BYTES_MAX = 500, /* of one line of it */
    CODE_INDENT = 4,      /* spaces before a line of code that could not be parsed */
};

/* Returns the first byte after an escape sequence such as ESC [ 0 ; 31 m. */
static const char *skip_escape(const char *at, const char *end) {
    for (at += 2; at < end && (*at < '@' || *at > '~'); at++)
        continue;
    return at < end ? at + 1 : end;
}

/* A line without its colours, cut where it is too long. */
static json_t *plain_line(const char *line, size_t n) {
    char plain[LINE_BYTES_MAX];
    size_t bytes = 0;
    const char *end = line + n;
    for (const char *at = line; at < end && bytes < sizeof plain;)
        if (end - at >= 2 && at[0] == '\x1b' && at[1] == '[')
            at = skip_escape(at, end);
        else
            plain[bytes++] = *at++;
    return text_to_json(plain, text_whole_utf8(plain, bytes));
}

static void add_lines(json_t *lines, const json_t *text) {
    const char *line = json_string_value(text);
    if (!line)
        return;
    const char *end = line + json_string_length(text);
    while (line) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        json_array_append_new(lines, plain_line(line, (size_t)((newline ? newline : end) - line)));
        if (json_array_size(lines) > LINES_MAX)
            json_array_remove(lines, 0);
        line = newline ? newline + 1 : NULL;
    }
}

static json_t *plain_lines(const json_t *traceback) {
    json_t *lines = json_array();
    size_t i;
    json_t *text;
    json_array_foreach(traceback, i, text) add_lines(lines, text);
    return lines;
}

/* LINE in "Cell In[NUMBER], line LINE" with this number, or 0 where the text has no such words. */
static int cell_line(const json_t *text, int number) {
    char mark[48];
    snprintf(mark, sizeof mark, "Cell In[%d], line ", number);
    const char *at = strstr(json_string_value(text), mark);
    long line = at ? strtol(at + strlen(mark), NULL, 10) : 0;
    return line > 0 && line < INT_MAX ? (int)line : 0;
}

/* Finds the innermost line of the cell; *ret_at says where in the traceback. 0 where there is none. */
static int find_line(const json_t *lines, const struct failure_source *source, size_t *ret_at) {
    size_t n = json_array_size(lines);
    for (size_t i = 0; i < n; i++) {
        size_t at = source->order == FAILURE_INNERMOST_FIRST ? i : n - 1 - i;
        int line = cell_line(json_array_get(lines, at), source->number);
        if (line > 0) {
            *ret_at = at;
            return line;
        }
    }
    return 0;
}

/* How far a line of code is indented; the traceback shows it without its indentation. */
static int indent_of(const char *code, int line) {
    for (; line > 1 && code; line--) {
        code = strchr(code, '\n');
        code = code ? code + 1 : NULL;
    }
    return code ? (int)strspn(code, " \t\f") : 0;
}

/* The column that a caret two lines below "Cell In[3], line 1" points to; 0 where there is no caret. */
static int find_column(const json_t *lines, size_t at, int indent) {
    const char *carets = json_string_value(json_array_get(lines, at + 2));
    size_t column = carets ? strspn(carets, " ") : 0;
    if (!carets || carets[column] != '^' || strspn(carets + column, "^ ") != strlen(carets + column))
        return 0;
    return (int)column < CODE_INDENT ? 0 : (int)column - CODE_INDENT + indent + 1;
}

json_t *failure_json(const json_t *reply, const struct failure_source *source) {
    const json_t *ename = json_object_get(reply, "ename");
    const json_t *evalue = json_object_get(reply, "evalue");
    json_t *lines = plain_lines(json_object_get(reply, "traceback"));
    size_t at;
    int line = find_line(lines, source, &at);
    int column = line > 0 ? find_column(lines, at, indent_of(source->code, line)) : 0;
    json_t *json = json_pack("{s:s, s:s, s:o}", "ename", json_is_string(ename) ? json_string_value(ename) : "",
                             "evalue", json_is_string(evalue) ? json_string_value(evalue) : "", "traceback", lines);
    if (line > 0)
        json_object_set_new(json, "line", json_integer(line));
    if (column > 0)
        json_object_set_new(json, "column", json_integer(column));
    return json;
}
