/*
 * filename.h - names of files: checks names from outside (a request's files,
 * files of cells), shows names to people, and compares parts of paths.
 */
#ifndef PETRI_FILENAME_H
#define PETRI_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FILENAME_PATH_BYTES = 1024, /* of a path, without its NUL */
    FILENAME_NAME_BYTES = 200,  /* of one name in it: a copy may get " (99)" behind it */
    FILENAME_DEPTH = 32,        /* names in a path */
};

/*
 * Why path, n bytes, can't be a file's path below a folder, as the end of a
 * sentence ("is absolute"); NULL where it can. It has to be relative and
 * normalised (no empty name, "." or "..", no space or dot at the end of a name),
 * UTF-8, without NUL and characters that a listing hides or reorders, and within
 * the bounds above. Static.
 */
const char *filename_problem(const char *path, size_t n);

/* The n-th name to try for a file: "plot.png", "plot (2).png". path may have folders. 0 or -ENAMETOOLONG. */
int filename_nth(const char *path, int n, char *buf, size_t size);

/* Where Python keeps compiled modules. */
#define FILENAME_CACHE "__pycache__"

/* Whether one of the names in path is name or, if whole is false, begins with it. */
bool filename_has(const char *path, const char *name, bool whole);

/* Whether a name, or a path, ends with these characters. */
bool filename_ends(const char *name, const char *with);

/* The rest of path after folder: "" for the folder itself, "/..." for a path in it; NULL for any other path. */
const char *filename_below(const char *folder, const char *path);

/* Copies a path for people to read, with "?" for control and unseen characters. Cut where it is longer than buf.
 * Returns buf. */
const char *filename_shown(const char *path, char *buf, size_t size);

/* The same for any text, as one line: each run of blanks and line ends becomes one space. */
const char *filename_line(const char *text, char *buf, size_t size);

#endif
