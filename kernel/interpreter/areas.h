/*
 * areas.h - folders that cells see and that have files of distributions, and which distributions these belong to.
 *
 * Cells can reach more folders of an interpreter than those that it imports from:
 * the folders of its base, of other versions and of the system, with one
 * sys.path.append(), and those that distributions install files to, as bin and
 * share. Each of these is an area. An area has the paths in it that the lists of
 * files (RECORD) of distributions name, in two trees: one for distributions that
 * cells may see, one for the others. unlisted.h applies this rule: in an area
 * cells see only what a shown distribution names. In bin, share and similar
 * folders of a prefix that is no virtual environment, as /usr, many files belong
 * to no distribution; there cells see everything except what only hidden
 * distributions name.
 *
 * See: PyPA, "Recording installed projects"; PEP 405; sysconfig, "Installation paths".
 */
#ifndef PETRI_AREAS_H
#define PETRI_AREAS_H

#include "base/cleanup.h"
#include "kernel/interpreter/distributions.h"

#include <jansson.h>

enum { AREAS_MAX = 256, AREAS_PREFIXES = 16 };

enum area_kind {
    AREA_SITE,   /* the interpreter imports from it */
    AREA_OTHER,  /* another interpreter imports from it, or the base does: its distributions are all hidden */
    AREA_WHEELS, /* archives NAME-VERSION-….whl, each a distribution */
    AREA_VENV,   /* bin, share, … of a virtual environment, which has files of its own there */
    AREA_SYSTEM, /* the same of another prefix */
};

/* A tree of paths is an object with an entry for each name: again an object, or true for a file or a whole folder. */
struct area {
    char *path; /* without links */
    enum area_kind kind;
    json_t *shown;
    json_t *hidden;
    json_t *loose; /* module names of shown distributions that have no list of files */
};

struct areas {
    char interpreter[PATH_MAX];
    char *prefixes[AREAS_PREFIXES]; /* of the interpreter, of its base, and the system's; without links */
    size_t n_prefixes;
    struct area *all;
    size_t n;
};

/* Finds all areas. site: petri's own copy of IPython, which is no area, or "". ret is the caller's: areas_fini().
 * 0, -ENOMEM, or -E2BIG where there are too many. */
int areas_find(const struct distributions *found, const char *site, struct areas *ret) MUST_CHECK;
void areas_fini(struct areas *areas);

/* The area of exactly this folder, or NULL. */
struct area *areas_at(struct areas *areas, const char *folder);

/*
 * Adds path, relative to folder or absolute, to the tree of shown or hidden paths
 * of the area that contains it; does nothing where none does. 0, -ENOMEM, or
 * -E2BIG for too many areas.
 */
int areas_name(struct areas *areas, const char *folder, const char *path, bool shown) MUST_CHECK;

/* Adds a path to a tree. 0 or -ENOMEM. */
int area_add(json_t *tree, const char *path) MUST_CHECK;

#endif
