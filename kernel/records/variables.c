/*
 * variables.c - a list that is searched in whole for each text, and a reader of lines as IPython reads them.
 *
 * Values are a cell's: they may overlap in a text, and take long to find in it. So the
 * text has a byte for each of its own that says which value it is of, and a search has a
 * deadline, after which the whole text counts as found.
 *
 * What follows %env or %set_env is split at the first "=", or before it at the first
 * blank: there IPython refuses the name. Both are stripped. IPython takes the line without "%" where it is
 * the cell's only one (automagic), and joins lines that end with a backslash.
 *
 * See: IPython.core.magics.osm, IPython.core.inputtransformer2.
 */
#define _GNU_SOURCE
#include "variables.h"

#include "base/cleanup.h"
#include "kernel/base/clock.h"
#include "kernel/records/secrets.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of code that sets a variable: where its name and its value stand, in bytes. */
struct assignment {
    size_t name, name_bytes;
    size_t value, value_bytes;
    bool is_joined; /* of several lines */
};

void variables_fini(struct variables *variables) {
    for (size_t i = 0; i < variables->n; i++)
        free(variables->rows[i].value);
    variables->n = 0;
}

static bool knows(const struct variables *variables, const char *value, size_t bytes) {
    for (size_t i = 0; i < variables->n; i++)
        if (variables->rows[i].bytes == bytes && memcmp(variables->rows[i].value, value, bytes) == 0)
            return true;
    return false;
}

/* Makes room for one; false where all stay. */
static bool forget_oldest(struct variables *variables) {
    size_t i = 0;
    if (variables->n < VARIABLES_MAX)
        return true;
    while (i < variables->n && variables->rows[i].stays)
        i++;
    if (i == variables->n)
        return false;
    free(variables->rows[i].value);
    memmove(&variables->rows[i], &variables->rows[i + 1], (variables->n - i - 1) * sizeof variables->rows[0]);
    variables->n--;
    return true;
}

/* A name in a mark has nothing that could end the mark. */
static void set_kind(struct variable *row, const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    snprintf(row->kind, sizeof row->kind, "variable %s", name);
    row->kind[strlen("variable ") + strspn(row->kind + strlen("variable "), letters)] = '\0';
}

bool variables_add(struct variables *variables, const char *name, const char *value, size_t bytes, bool stays) {
    struct variable row = {.bytes = bytes < VARIABLES_VALUE_BYTES ? bytes : VARIABLES_VALUE_BYTES, .stays = stays};
    if (bytes < VARIABLES_VALUE_BYTES_MIN || knows(variables, value, row.bytes))
        return true;
    row.value = malloc(row.bytes);
    if (!row.value)
        return false;
    if (!forget_oldest(variables)) {
        free(row.value);
        return true;
    }
    memcpy(row.value, value, row.bytes);
    set_kind(&row, name);
    variables->rows[variables->n++] = row;
    return true;
}

bool variables_add_all(struct variables *variables, const json_t *values) {
    const char *name;
    json_t *value;
    bool ok = true;
    json_object_foreach((json_t *)values, name, value) ok &=
        variables_add(variables, name, json_string_value(value), json_string_length(value), true);
    return ok;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

static size_t skip_blanks(const char *code, size_t at, size_t end) {
    while (at < end && is_blank(code[at]))
        at++;
    return at;
}

/* Where the line at at ends, with those that it is joined with. */
static size_t line_end(const char *code, size_t at, size_t bytes, bool *ret_joined) {
    *ret_joined = false;
    for (;;) {
        const char *newline = memchr(code + at, '\n', bytes - at);
        size_t end = newline ? (size_t)(newline - code) : bytes;
        if (!newline || end == at || code[end - 1] != '\\')
            return end;
        *ret_joined = true;
        at = end + 1;
    }
}

/* What follows the magic's name on a line; 0 where the line is none of these. */
static size_t skip_magic(const char *code, size_t at, size_t end, bool automagic) {
    static const char *const names[] = {"env", "set_env"};
    at = skip_blanks(code, at, end);
    if (at < end && code[at] == '%')
        at++;
    else if (!automagic)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t behind = at + strlen(names[i]);
        if (behind < end && memcmp(code + at, names[i], strlen(names[i])) == 0 && is_blank(code[behind]))
            return skip_blanks(code, behind, end);
    }
    return 0;
}

/* Reads the line from start to end. False where it sets nothing. */
static bool read_line(const char *code, size_t start, size_t end, bool automagic, struct assignment *ret) {
    size_t name = skip_magic(code, start, end, automagic);
    if (name == 0 || name == end)
        return false;
    size_t split = name;
    while (split < end && code[split] != '=' && !is_blank(code[split]))
        split++;
    size_t value = skip_blanks(code, split, end);
    if (value < end && code[value] == '=')
        value = skip_blanks(code, value + 1, end);
    while (end > value && (is_blank(code[end - 1]) || code[end - 1] == '\n'))
        end--;
    *ret = (struct assignment){name, split - name, value, end - value, false};
    return end > value;
}

/* A cell's code while its lines are read, each once. */
struct lines {
    const char *code;
    size_t bytes;
    size_t at;
    bool automagic; /* there is one line */
};

static struct lines read_lines(const char *code, size_t bytes) {
    const char *newline = bytes ? memchr(code, '\n', bytes) : NULL;
    return (struct lines){code, bytes, 0, !newline || (size_t)(newline - code) + 1 == bytes};
}

/* The next line that sets a variable. */
static bool next_assignment(struct lines *lines, struct assignment *ret) {
    bool found = false, joined = false;
    while (!found && lines->at < lines->bytes) {
        size_t end = line_end(lines->code, lines->at, lines->bytes, &joined);
        found = read_line(lines->code, lines->at, end, lines->automagic, ret);
        lines->at = end + 1;
    }
    ret->is_joined = joined;
    return found;
}

/* A value that IPython may put others into, {name} or $name, is not the variable's. */
static bool is_itself(const char *code, const struct assignment *assignment) {
    return !assignment->is_joined && !memchr(code + assignment->value, '{', assignment->value_bytes) &&
           !memchr(code + assignment->value, '$', assignment->value_bytes);
}

static void copy_name(const char *code, const struct assignment *assignment, char *buf, size_t size) {
    snprintf(buf, size, "%.*s", (int)(assignment->name_bytes < size ? assignment->name_bytes : size - 1),
             code + assignment->name);
}

bool variables_read_code(struct variables *variables, const char *code, size_t bytes) {
    struct lines lines = read_lines(code, bytes);
    struct assignment assignment;
    char name[VARIABLES_KIND_BYTES];
    bool ok = true;
    while (next_assignment(&lines, &assignment)) {
        copy_name(code, &assignment, name, sizeof name);
        if (is_itself(code, &assignment))
            ok &= variables_add(variables, name, code + assignment.value, assignment.value_bytes, false);
    }
    return ok;
}

/* Writes at each byte of a value in the text the number of its row, from 1. */
static void find_row(const struct variables *variables, size_t row, const char *text, size_t bytes,
                     unsigned char *owners) {
    const struct variable *variable = &variables->rows[row];
    const char *found = text, *end = text + bytes;
    while ((found = memmem(found, (size_t)(end - found), variable->value, variable->bytes))) {
        memset(owners + (found - text), (int)row + 1, variable->bytes);
        found += variable->bytes;
    }
}

static void add_hits(const struct variables *variables, const unsigned char *owners, size_t bytes, struct bytes *hits) {
    for (size_t at = 0, start; at < bytes;) {
        for (start = at++; at < bytes && owners[at] == owners[start];)
            at++;
        if (owners[start])
            bytes_append(hits, &(struct secrets_hit){start, at, variables->rows[owners[start] - 1].kind},
                         sizeof(struct secrets_hit));
    }
}

void variables_find(const struct variables *variables, const char *text, size_t bytes, int64_t deadline_us,
                    struct bytes *hits) {
    auto_free unsigned char *owners = bytes ? calloc(bytes, 1) : NULL;
    hits->failed |= bytes && !owners;
    for (size_t row = 0; owners && row < variables->n; row++) {
        if (clock_us() > deadline_us) {
            bytes_append(hits, &(struct secrets_hit){0, bytes, "all, as the values of variables take too long to find"},
                         sizeof(struct secrets_hit));
            return;
        }
        find_row(variables, row, text, bytes, owners);
    }
    if (owners)
        add_hits(variables, owners, bytes, hits);
}

void variables_find_in_code(const char *code, size_t bytes, struct bytes *hits) {
    struct lines lines = read_lines(code, bytes);
    struct assignment assignment;
    while (next_assignment(&lines, &assignment)) {
        const size_t end = assignment.value + assignment.value_bytes;
        bytes_append(hits, &(struct secrets_hit){assignment.value, end, "variable"}, sizeof(struct secrets_hit));
    }
}
