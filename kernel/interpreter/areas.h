/*
 * areas.h - the folders that cells see and in which files of distributions lie, and which files those are.
 *
 * An interpreter brings more folders along than those it imports from: the
 * ones of its base, of other versions, the system's, whose contents are one
 * sys.path.append() away; and what distributions put beside them, into bin and
 * share. Each is an area. For each are kept the paths that the lists of files
 * (RECORD) of distributions name in it, apart for those that cells may see and
 * for the others. The rule, which unlisted.h applies: of an area cells see what
 * a shown distribution names, and nothing else; but in bin, share and the like
 * of a prefix that is no virtual environment, as /usr, where much is of no
 * distribution, they see everything that is not named by hidden ones alone.
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
    AREA_OTHER,  /* other interpreters do, or its base: its distributions are all hidden */
    AREA_WHEELS, /* archives NAME-VERSION-….whl, each a distribution */
    AREA_VENV,   /* bin, share, … of a virtual environment, which has entries of its own there */
    AREA_SYSTEM, /* the same of another prefix */
};

/* A tree of paths: an object of entries, each an object again, or true for a file and for a folder as a whole. */
struct area {
    char *path; /* without links */
    enum area_kind kind;
    json_t *shown;
    json_t *hidden;
    json_t *loose; /* names of modules of shown distributions that have no list of files */
};

struct areas {
    char interpreter[PATH_MAX];
    char *prefixes[AREAS_PREFIXES]; /* of the interpreter, of its base, and the system's; without links */
    size_t n_prefixes;
    struct area *all;
    size_t n;
};

/* Finds them. site: petri's own copy of IPython, or "" for none: it is no area. ret is the caller's: areas_fini(). 0,
 * -ENOMEM, or -E2BIG where there are too many. */
int areas_find(const struct distributions *found, const char *site, struct areas *ret) MUST_CHECK;
void areas_fini(struct areas *areas);

/* The area that is this folder, or NULL. */
struct area *areas_at(struct areas *areas, const char *folder);

/*
 * Remembers path, relative to folder or absolute, in the tree of shown or
 * hidden paths of the area that it lies in, if in any. Returns 0, -ENOMEM, or
 * -E2BIG for one area too many.
 */
int areas_name(struct areas *areas, const char *folder, const char *path, bool shown) MUST_CHECK;

/* Adds a path to a tree. 0 or -ENOMEM. */
int area_add(json_t *tree, const char *path) MUST_CHECK;

#endif
