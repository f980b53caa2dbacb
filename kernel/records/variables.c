/*
 * variables.c - a sorted list in which each place of a text is looked up, and a reader of lines as IPython reads them.
 *
 * A bit for the first bytes of each value tells most places apart from all values. Values
 * are a cell's: they may be like each other, overlap in a text, and take long to find in
 * it. So a search has a bound, after which the whole text counts as found.
 *
 * What follows %env or %set_env is split at the first "=", or before it at the first
 * blank: there IPython refuses the name. Both are stripped. IPython takes the line without "%" where it is
 * the cell's only one (automagic), and joins lines that end with a backslash.
 *
 * See: IPython.core.magics.osm, IPython.core.inputtransformer2.
 */
#include "variables.h"

#include "base/cleanup.h"
#include "kernel/records/secrets.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line of code that sets a variable: where its name and its value stand, in bytes. */
struct assignment {
    size_t name, name_bytes;
    size_t value, value_bytes;
    bool is_joined; /* of several lines */
};

enum { WORK_BYTES = 1 << 20 }; /* that are compared between two looks at the clock */

void variables_fini(struct variables *variables) {
    for (size_t i = 0; i < variables->n; i++) {
        free(variables->rows[i]->value);
        free(variables->rows[i]);
    }
    free(variables->rows);
    *variables = (struct variables){0};
}

/* The bit of a text's first bytes, of which there are enough. */
static size_t filter_bit(const char *text) {
    uint64_t first = 0;
    memcpy(&first, text, VARIABLES_VALUE_BYTES_MIN);
    return first * 0x9e3779b97f4a7c15u >> 48;
}
_Static_assert(VARIABLES_FILTER_BITS == 1 << (64 - 48), "each bit is there");

static bool filter_has(const struct variables *variables, const char *text) {
    const size_t bit = filter_bit(text);
    return variables->filter[bit / 64] >> bit % 64 & 1;
}

/* As strcmp(3), of a value and a text. */
static int compare(const struct variable *row, const char *text, size_t bytes) {
    int order = memcmp(row->value, text, row->bytes < bytes ? row->bytes : bytes);
    return order ? order : (row->bytes > bytes) - (row->bytes < bytes);
}

/* How many values come before a text, or are equal to it. Counts the bytes that it looks at. */
static size_t rank(const struct variables *variables, const char *text, size_t bytes, size_t *work) {
    size_t low = 0, high = variables->n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct variable *row = variables->rows[middle];
        *work += row->bytes < bytes ? row->bytes : bytes;
        if (compare(row, text, bytes) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/*
 * The longest value that a text begins with, or NULL. It comes last of the values up
 * to the text, or is one with which that one begins, too.
 */
static const struct variable *longest_at(const struct variables *variables, const char *text, size_t bytes,
                                         size_t *work) {
    while (bytes >= VARIABLES_VALUE_BYTES_MIN) {
        const size_t n = rank(variables, text, bytes, work);
        const struct variable *row = n > 0 ? variables->rows[n - 1] : NULL;
        size_t common = 0;
        while (row && common < row->bytes && common < bytes && row->value[common] == text[common])
            common++;
        if (!row || common == row->bytes)
            return row;
        bytes = common;
    }
    return NULL;
}

/* A name in a mark has nothing that could end the mark. */
static void set_kind(struct variable *row, const char *name) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    snprintf(row->kind, sizeof row->kind, "variable %s", name);
    row->kind[strlen("variable ") + strspn(row->kind + strlen("variable "), letters)] = '\0';
}

/* Puts a row at its place. The row is stolen if that succeeds. */
static bool insert(struct variables *variables, size_t at, struct variable *row) {
    if (variables->n == variables->room) {
        const size_t room = variables->room ? variables->room * 2 : 16;
        struct variable **rows = reallocarray(variables->rows, room, sizeof *rows);
        if (!rows)
            return false;
        variables->rows = rows;
        variables->room = room;
    }
    memmove(&variables->rows[at + 1], &variables->rows[at], (variables->n - at) * sizeof variables->rows[0]);
    variables->rows[at] = row;
    variables->n++;
    const size_t bit = filter_bit(row->value);
    variables->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    if (variables->shortest == 0 || row->bytes < variables->shortest)
        variables->shortest = row->bytes;
    return true;
}

static int add_row(struct variables *variables, size_t at, const char *name, const char *value, size_t bytes,
                   uint64_t only_for) {
    struct variable *row = malloc(sizeof *row);
    char *copy = malloc(bytes);
    if (row && copy) {
        *row = (struct variable){.value = memcpy(copy, value, bytes), .bytes = bytes, .only_for = only_for};
        set_kind(row, name);
    }
    if (row && copy && insert(variables, at, row))
        return 0;
    free(copy);
    free(row);
    return -ENOMEM;
}

int variables_add(struct variables *variables, enum variable_source source, uint64_t run, const char *name,
                  const char *value, size_t bytes) {
    size_t work = 0;
    bytes = bytes < VARIABLES_VALUE_BYTES ? bytes : VARIABLES_VALUE_BYTES;
    if (bytes < VARIABLES_VALUE_BYTES_MIN)
        return 0;
    const size_t at = rank(variables, value, bytes, &work);
    const struct variable *before = at > 0 ? variables->rows[at - 1] : NULL;
    if (before && before->only_for == 0 && compare(before, value, bytes) == 0)
        return 0;
    const bool fits = source == VARIABLE_CONFIGURED || (variables->used[source].n < VARIABLES_MAX &&
                                                        variables->used[source].bytes + bytes <= VARIABLES_BYTES_MAX);
    const int r = fits || run > 0 ? add_row(variables, at, name, value, bytes, fits ? 0 : run) : -ENOSPC;
    if (r < 0 || !fits)
        return r < 0 ? r : -ENOSPC;
    variables->used[source].n++;
    variables->used[source].bytes += bytes;
    return 0;
}

void variables_forget(struct variables *variables, uint64_t run) {
    size_t kept = 0;
    for (size_t i = 0; i < variables->n; i++) {
        struct variable *row = variables->rows[i];
        if (row->only_for != run) {
            variables->rows[kept++] = row;
            continue;
        }
        free(row->value);
        free(row);
    }
    variables->n = kept;
}

int variables_add_all(struct variables *variables, const json_t *values) {
    const char *name;
    json_t *value;
    int r = 0;
    json_object_foreach((json_t *)values, name, value) {
        const int added =
            variables_add(variables, VARIABLE_CONFIGURED, 0, name, json_string_value(value), json_string_length(value));
        r = r < 0 ? r : added;
    }
    return r;
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

int variables_read_code(struct variables *variables, const char *code, size_t bytes) {
    struct lines lines = read_lines(code, bytes);
    struct assignment assignment;
    char name[VARIABLES_KIND_BYTES];
    int r = 0;
    while (r == 0 && next_assignment(&lines, &assignment)) {
        copy_name(code, &assignment, name, sizeof name);
        if (is_itself(code, &assignment))
            r = variables_add(variables, VARIABLE_IN_CODE, 0, name, code + assignment.value, assignment.value_bytes);
    }
    return r;
}

void variables_find(const struct variables *variables, const char *text, size_t bytes, struct work_time *time,
                    struct bytes *hits) {
    struct secrets_hit hit = {0};
    const size_t before = hits->n;
    size_t work = WORK_BYTES;
    for (size_t at = 0; at + VARIABLES_VALUE_BYTES_MIN <= bytes && hit.end < bytes; at++) {
        if (!filter_has(variables, text + at))
            continue;
        if (work >= WORK_BYTES && work_time_over(time)) {
            hits->n = before;
            hit = (struct secrets_hit){0, bytes, "all, as the values of variables take too long to find"};
            break;
        }
        work = work >= WORK_BYTES ? 0 : work;
        const struct variable *row = longest_at(variables, text + at, bytes - at, &work);
        if (!row)
            continue;
        const size_t end = row->bytes < VARIABLES_VALUE_BYTES ? at + row->bytes : bytes;
        if (at >= hit.end) {
            if (hit.kind)
                bytes_append(hits, &hit, sizeof hit);
            hit = (struct secrets_hit){at, end, row->kind};
        }
        hit.end = end > hit.end ? end : hit.end;
    }
    if (hit.kind)
        bytes_append(hits, &hit, sizeof hit);
}

void variables_find_in_code(const char *code, size_t bytes, struct bytes *hits) {
    struct lines lines = read_lines(code, bytes);
    struct assignment assignment;
    while (next_assignment(&lines, &assignment)) {
        const size_t end = assignment.value + assignment.value_bytes;
        bytes_append(hits, &(struct secrets_hit){assignment.value, end, "variable"}, sizeof(struct secrets_hit));
    }
}
