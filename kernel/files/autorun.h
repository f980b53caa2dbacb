/*
 * autorun.h - names under which a program of the host runs or loads a file by itself.
 *
 * A copy of a cell's file is data, which should not run unless a user runs it on
 * purpose. Two rules need no list: hidden files (tools keep settings in names
 * that begin with a dot, and people don't see them), and names that a command
 * takes for an option (`tar c *` with a name that begins with a dash). The rest
 * is a table of names, each with the program that looks for it.
 */
#ifndef PETRI_AUTORUN_H
#define PETRI_AUTORUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a relative path, of which each name counts, is looked for by a program
 * of the host. Then ret_why gets why, as the end of a sentence ("is hidden, as
 * settings of tools are"), cut to size bytes. Names are compared without regard
 * to case, as on some file systems.
 */
bool autorun_is(const char *path, char *ret_why, size_t size);

/*
 * The same but for what the operator has allowed: an array of patterns of
 * fnmatch(3), or NULL. One without a slash allows each name that it matches; one
 * with slashes the path up to a name. "*" allows all; other patterns name a leading dot.
 */
bool autorun_is_but(const char *path, const json_t *allowed, char *ret_why, size_t size);

/*
 * The same for a folder that people work in, where an interpreter that is started
 * finds modules before all others: a "json.py" there runs when somebody imports json.
 */
bool autorun_is_in_work(const char *path, const json_t *allowed, char *ret_why, size_t size);

#endif
