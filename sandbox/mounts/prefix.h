/*
 * prefix.h - which folders an interpreter needs, found without running it.
 */
#ifndef PETRI_SANDBOX_MOUNTS_PREFIX_H
#define PETRI_SANDBOX_MOUNTS_PREFIX_H

#include <limits.h>

#define PREFIX_MAX 8

struct prefix_list {
    int n;
    char path[PREFIX_MAX][PATH_MAX];
    int n_links; /* links on the way that stand in no prefix: ~/bin/python, say */
    struct prefix_link {
        char path[PATH_MAX];
        char target[PATH_MAX];
    } link[PREFIX_MAX];
};

/* What an interpreter needs of a prefix, which may be a user's home as well: names of entries; NULL-ended. */
extern const char *const prefix_parts[];

/*
 * Collects the prefixes of the interpreter at path, as named and behind each
 * of its symbolic links, and, for a virtual environment, of the interpreter
 * that its pyvenv.cfg names. A prefix is a folder with a standard library or a
 * pyvenv.cfg: a link in ~/bin does not make all of ~ one. What lies below /usr
 * is left out: it is shown anyway. 0, -ENOENT where there is no such file, -EOVERFLOW for too many.
 *
 * See: Python, "sys.base_prefix"; PEP 405.
 */
int prefix_collect(const char *python, struct prefix_list *ret_list);

#endif
