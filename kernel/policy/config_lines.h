/*
 * config_lines.h - where a key stands in the text of a configuration file.
 *
 * The JSON parser keeps no lines. This reads the text once more, which the parser
 * has accepted, and only for messages.
 */
#ifndef PETRI_CONFIG_LINES_H
#define PETRI_CONFIG_LINES_H

#include <stddef.h>

enum { CONFIG_LINES_DEPTH = 4 };

/* The names of a key and of the objects that it is in, the outermost first; borrowed. */
struct config_place {
    const char *names[CONFIG_LINES_DEPTH];
    size_t n;
};

/*
 * The line, from 1, of the last key with this place, or of the innermost object
 * of the place that is found; a name with an escape in the text is not found.
 */
unsigned config_line(const char *text, size_t bytes, const struct config_place *place);

#endif
