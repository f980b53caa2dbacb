#include "filename.h"

#include "protocol/utf8.h"

#include <stdbool.h>
#include <string.h>

/* C0, DEL, and C1 in UTF-8: what a terminal might obey. Bidirectional overrides reorder what a person reads. */
static bool has_control(const unsigned char *path, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (path[i] < 0x20 || path[i] == 0x7f)
            return true;
        if (path[i] == 0xc2 && i + 1 < n && path[i + 1] < 0xa0)
            return true;
        if (path[i] == 0xe2 && i + 2 < n &&
            ((path[i + 1] == 0x80 && path[i + 2] >= 0xaa && path[i + 2] <= 0xae) ||
             (path[i + 1] == 0x81 && path[i + 2] >= 0xa6 && path[i + 2] <= 0xa9)))
            return true;
    }
    return false;
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
