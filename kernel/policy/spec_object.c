/*
 * spec_object.c - reads an object's members by a table of keys, and makes the error message for the first wrong one.
 */

#include "spec_object.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int spec_refuse(const struct spec_reading *reading, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int r = error_vset(reading->terms->limits->ret_error, EINVAL, format, args);
    va_end(args);
    return r;
}

bool spec_is_text(const json_t *json, size_t max) {
    size_t n = json_string_length(json);
    return json_is_string(json) && n > 0 && n <= max && strlen(json_string_value(json)) == n;
}

static int refuse_key(const struct spec_reading *reading, const char *where, const struct spec_key *keys, size_t n,
                      const char *key) {
    char names[256] = "";
    size_t at = 0;
    for (size_t i = 0; i < n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s\"%s\"",
                               i == 0       ? ""
                               : i + 1 == n ? " and "
                                            : ", ",
                               keys[i].name);
    return spec_refuse(reading, "%s has no \"%.40s\"; there %s %s", where, key, n == 1 ? "is" : "are", names);
}

static int read_key(const struct spec_reading *reading, const char *where, const struct spec_key *keys, size_t n,
                    const char *name, const json_t *value) {
    size_t i = 0;
    while (i < n && strcmp(keys[i].name, name) != 0)
        i++;
    if (i == n)
        return refuse_key(reading, where, keys, n, name);
    int r = keys[i].parse(reading, value);
    return r == SPEC_NOT_THIS ? spec_refuse(reading, "%s: \"%s\" has to be %s", where, name, keys[i].takes) : r;
}

int spec_read_object(const struct spec_reading *reading, const char *where, const struct spec_key *keys, size_t n,
                     const json_t *json) {
    const char *name;
    json_t *value;
    int r = 0;
    if (!json_is_object(json))
        return spec_refuse(reading, "%s has to be an object", where);
    json_object_foreach((json_t *)json, name, value) {
        r = read_key(reading, where, keys, n, name, value);
        if (r < 0)
            break;
    }
    return r;
}
