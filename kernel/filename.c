#include "filename.h"

#include "protocol/utf8.h"

#include <string.h>

/*
 * How many bytes of a control character text begins with: C0, DEL and C1, which
 * a terminal might obey, or what reorders the text that a person reads. 0 for
 * none.
 */
static size_t control_bytes(const unsigned char *text, size_t n) {
    if (text[0] < 0x20 || text[0] == 0x7f)
        return 1;
    if (n >= 2 && text[0] == 0xc2 && text[1] < 0xa0)
        return 2;
    if (n < 3 || text[0] != 0xe2)
        return 0;
    bool embedding = text[1] == 0x80 && text[2] >= 0xaa && text[2] <= 0xae;
    bool isolate = text[1] == 0x81 && text[2] >= 0xa6 && text[2] <= 0xa9;
    return embedding || isolate ? 3 : 0;
}

static bool has_control(const unsigned char *path, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (control_bytes(path + i, n - i) > 0)
            return true;
    return false;
}

const char *filename_shown(const char *path, char *buf, size_t size) {
    const unsigned char *text = (const unsigned char *)path;
    size_t n = strlen(path), at = 0;
    for (size_t i = 0; i < n && at + 1 < size;) {
        size_t control = control_bytes(text + i, n - i);
        buf[at++] = control > 0 ? '?' : path[i];
        i += control > 0 ? control : 1;
    }
    buf[at] = '\0';
    return buf;
}

static const char *name_problem(const char *name, size_t n) {
    if (n == 0)
        return "has an empty name in it";
    if ((n == 1 && name[0] == '.') || (n == 2 && name[0] == '.' && name[1] == '.'))
        return "has \".\" or \"..\" in it";
    if (n > FILENAME_NAME_BYTES)
        return "has a name of more than 200 bytes in it";
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
    if (has_control((const unsigned char *)path, n))
        return "has control characters in it";
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
