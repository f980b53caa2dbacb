/*
 * filename.c - checks and shows names in one pass, each character together with the one before it.
 *
 * unseen_look() needs the character before, so a text is never checked in pieces.
 * filename_problem() refuses the same characters that filename_shown() replaces.
 *
 * See: The Unicode Standard, category Zs.
 */

#include "filename.h"

#include "protocol/unseen.h"
#include "protocol/utf8.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The kind of the first unseen character, or UNSEEN_NOT. */
static enum unseen find_unseen(const unsigned char *path, size_t n) {
    uint32_t before = 0;
    size_t bytes;
    for (size_t i = 0; i < n; i += bytes) {
        enum unseen kind = unseen_look(path + i, n - i, before, &bytes);
        if (kind != UNSEEN_NOT)
            return kind;
        before = unseen_decode(path + i, n - i, &bytes);
    }
    return UNSEEN_NOT;
}

/* See: the Unicode category Zs. */
static bool is_space(uint32_t code) {
    return code == 0x20 || code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
           code == 0x205f || code == 0x3000;
}

/* A space, a tab or a line end. */
static bool is_blank_code(uint32_t code) {
    return is_space(code) || (code >= '\t' && code <= '\r') || code == 0x85 || code == 0x2028 || code == 0x2029;
}

/* filename_shown() and filename_line(). */
static const char *show_name(const char *string, bool as_line, char *buf, size_t size) {
    const unsigned char *text = (const unsigned char *)string;
    size_t n = strlen(string), at = 0, bytes;
    uint32_t before = 0;
    for (size_t i = 0; i < n && at + 1 < size; i += bytes) {
        bool seen = unseen_look(text + i, n - i, before, &bytes) == UNSEEN_NOT, was_blank = is_blank_code(before);
        before = unseen_decode(text + i, n - i, &bytes);
        bool blank = as_line && is_blank_code(before);
        const char *shown = blank ? " " : seen ? string + i : "?";
        size_t shown_bytes = blank && was_blank ? 0 : blank || !seen ? 1 : bytes;
        if (shown_bytes > size - 1 - at)
            break;
        memcpy(buf + at, shown, shown_bytes);
        at += shown_bytes;
    }
    buf[at] = '\0';
    return buf;
}

const char *filename_shown(const char *path, char *buf, size_t size) {
    return show_name(path, false, buf, size);
}

const char *filename_line(const char *text, char *buf, size_t size) {
    return show_name(text, true, buf, size);
}

/* Windows and its file systems remove them, so the file would get another name. */
static bool ends_in_space_or_dot(const unsigned char *name, size_t n) {
    size_t start = n - 1;
    size_t bytes;
    while (start > 0 && (name[start] & 0xc0) == 0x80)
        start--;
    return name[n - 1] == '.' || is_space(unseen_decode(name + start, n - start, &bytes));
}

static const char *name_problem(const char *name, size_t n) {
    if (n == 0)
        return "has an empty name in it";
    if ((n == 1 && name[0] == '.') || (n == 2 && name[0] == '.' && name[1] == '.'))
        return "has \".\" or \"..\" in it";
    if (n > FILENAME_NAME_BYTES)
        return "has a name of more than 200 bytes in it";
    if (ends_in_space_or_dot((const unsigned char *)name, n))
        return "has a name in it that ends in a space or a dot";
    return NULL;
}

const char *filename_problem(const char *path, size_t n) {
    int depth = 0;
    if (n == 0)
        return "is empty";
    if (n > FILENAME_PATH_BYTES)
        return "is longer than 1024 bytes";
    if (path[0] == '/')
        return "is absolute";
    if (utf8_valid((const unsigned char *)path, n) != n)
        return "is not UTF-8";
    enum unseen kind = find_unseen((const unsigned char *)path, n);
    if (kind != UNSEEN_NOT)
        return kind == UNSEEN_CONTROL ? "has control characters in it" : "has characters in it that are not seen";
    for (size_t at = 0; at <= n;) {
        const char *slash = memchr(path + at, '/', n - at);
        size_t bytes = slash ? (size_t)(slash - path) - at : n - at;
        const char *problem = name_problem(path + at, bytes);
        if (problem)
            return problem;
        if (++depth > FILENAME_DEPTH)
            return "is more than 32 folders deep";
        at += bytes + 1;
    }
    return NULL;
}

bool filename_has(const char *path, const char *name, bool whole) {
    size_t n = strlen(name);
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, name, n) == 0 && (!whole || at[n] == '/' || at[n] == '\0'))
            return true;
    }
    return false;
}

bool filename_ends(const char *name, const char *with) {
    size_t n = strlen(name), end = strlen(with);
    return n >= end && strcmp(name + n - end, with) == 0;
}

const char *filename_below(const char *folder, const char *path) {
    size_t n = strlen(folder);
    return strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0') ? path + n : NULL;
}

int filename_nth(const char *path, int n, char *buf, size_t size) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    const char *end = dot && dot > name ? dot : path + strlen(path);
    int bytes =
        n == 1 ? snprintf(buf, size, "%s", path) : snprintf(buf, size, "%.*s (%d)%s", (int)(end - path), path, n, end);
    return bytes < (int)size ? 0 : -ENAMETOOLONG;
}
