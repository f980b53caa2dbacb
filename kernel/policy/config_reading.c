/* config_reading.c - what is wrong with a file is told key by key. */

#include "config_reading.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int config_refuse(const struct config_reading *reading, const char *format, ...) {
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    struct error wrong;
    const char *between = what[0] == ':' || !reading->path[0] ? "" : " ";
    int r = error_set(&wrong, EINVAL, "%s%s%s.", reading->path, between, what);
    if (reading->wrongs)
        reading->wrongs->tell(reading->wrongs->arg, &reading->place, wrong.text);
    return r;
}

struct config_reading config_reading_of(const struct config_reading *reading, const char *name) {
    struct config_reading inner = *reading;
    if (inner.place.n < CONFIG_LINES_DEPTH)
        inner.place.names[inner.place.n++] = name;
    return inner;
}
