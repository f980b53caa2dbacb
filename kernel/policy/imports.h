/*
 * imports.h - the modules that Python code says it imports, told by its tokens.
 *
 * Strings, comments, brackets and continued lines are understood; what is
 * imported in another way (__import__, exec) is not seen. Linear in the text.
 * See: the Python Language Reference, "Lexical analysis", "The import statement".
 */
#ifndef PETRI_IMPORTS_H
#define PETRI_IMPORTS_H

#include <stdbool.h>
#include <stddef.h>

enum { IMPORTS_NAME_BYTES = 256 };

/* A module that a line names: of `from a.b import c` both a.b and a.b.c, for c may be a module. Return false to stop.
 */
typedef bool imports_handler(void *arg, const char *module, int line);

void imports_scan(const char *code, size_t bytes, imports_handler *handler, void *arg);

#endif
