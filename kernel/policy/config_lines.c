/*
 * config_lines.c - goes over JSON text string by string, and keeps how deep it is and how much of the place fits there.
 *
 * Values are not parsed: outside of strings only brackets, colons and line ends
 * count. In an array no string is a key, as none has a colon behind it.
 */

#include "config_lines.h"

#include <stdbool.h>
#include <string.h>

struct scan {
    const char *at, *end;
    const struct config_place *place;
    size_t depth; /* brackets that are open */
    size_t fits;  /* of the place's names, those that the open objects are the values of */
    unsigned line, found;
};

/* Moves behind the string that begins at scan->at; its text is between. */
static void skip_string(struct scan *scan, const char **ret_text, size_t *ret_bytes) {
    const char *text = ++scan->at;
    while (scan->at < scan->end && *scan->at != '"')
        scan->at += *scan->at == '\\' && scan->at + 1 < scan->end ? 2 : 1;
    *ret_text = text;
    *ret_bytes = (size_t)(scan->at - text);
    scan->at += scan->at < scan->end;
}

/* Whether a colon follows: then the string was a key. */
static bool is_key(const struct scan *scan) {
    const char *at = scan->at;
    while (at < scan->end && strchr(" \t\r\n", *at) && *at)
        at++;
    return at < scan->end && *at == ':';
}

static void take_string(struct scan *scan) {
    const char *text;
    size_t bytes;
    skip_string(scan, &text, &bytes);
    if (!is_key(scan) || scan->depth == 0)
        return;
    const size_t level = scan->depth - 1;
    if (scan->fits > level)
        scan->fits = level; /* a new member of this object: what fitted below is left */
    if (scan->fits != level || level >= scan->place->n)
        return;
    const char *name = scan->place->names[level];
    if (strlen(name) == bytes && memcmp(name, text, bytes) == 0) {
        scan->fits = level + 1;
        scan->found = scan->line;
    }
}

unsigned config_line(const char *text, size_t bytes, const struct config_place *place) {
    struct scan scan = {.at = text, .end = text + bytes, .place = place, .line = 1, .found = 1};
    while (scan.at < scan.end) {
        const char c = *scan.at;
        if (c == '"') {
            take_string(&scan);
            continue;
        }
        scan.line += c == '\n';
        scan.depth += c == '{' || c == '[';
        scan.depth -= (c == '}' || c == ']') && scan.depth > 0;
        if (scan.fits > scan.depth)
            scan.fits = scan.depth;
        scan.at++;
    }
    return scan.found;
}
