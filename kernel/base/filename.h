/*
 * filename.h - names of files: what they may be where they come from outside (a request's inputs, what a cell has
 * made), how they are shown, and what they end with and lie in.
 */
#ifndef PETRI_FILENAME_H
#define PETRI_FILENAME_H

#include <stdbool.h>
#include <stddef.h>

enum {
    FILENAME_PATH_BYTES = 1024, /* of a path, without its end */
    FILENAME_NAME_BYTES = 200,  /* of one name in it: a copy may get " (99)" behind it */
    FILENAME_DEPTH = 32,        /* names in a path */
};

/*
 * What keeps path, n bytes, from being a file's path below a folder, as the
 * end of a sentence ("is absolute"); NULL where nothing does. It has to be
 * relative and normalised (no empty name, "." or "..", no space or dot at the
 * end of a name), UTF-8, without NUL and characters that a listing hides or
 * reorders, and within the bounds above. Static.
 */
const char *filename_problem(const char *path, size_t n);

/* The n-th name to try for a file: "plot.png", "plot (2).png". path may have folders. 0 or -ENAMETOOLONG. */
int filename_nth(const char *path, int n, char *buf, size_t size);

/* Where Python keeps compiled modules. */
#define FILENAME_CACHE "__pycache__"

/* Whether one of the names in path is name, or, where it need not be the whole, begins with it. */
bool filename_has(const char *path, const char *name, bool whole);

/* Whether a name, or a path, ends with these characters. */
bool filename_ends(const char *name, const char *with);

/* What path has behind folder: "" for the folder itself, "/..." for what is in it; NULL where it is neither. */
const char *filename_below(const char *folder, const char *path);

/* A path whose control and unseen characters are "?", for people to read. Cut where it is longer than buf. Returns buf.
 */
const char *filename_shown(const char *path, char *buf, size_t size);

/* The same for any text, as one line: of blanks and line ends that follow each other there is one space. */
const char *filename_line(const char *text, char *buf, size_t size);

#endif
