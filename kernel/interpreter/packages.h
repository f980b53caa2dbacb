/*
 * packages.h - the configuration's `packages`: hides the files of all other distributions from cells.
 *
 * Cells see the distributions that are listed, their requirements, and those that
 * petri's worker needs (IPython), in the folders that the interpreter imports
 * from. The files of all others are hidden in every folder that cells see: they
 * are not mounted. The standard library is always there. The list of files of a
 * distribution says which files belong to it; see areas.h, unlisted.h.
 *
 * See: PyPA, "Core metadata specifications", "Recording installed projects".
 */
#ifndef PETRI_PACKAGES_H
#define PETRI_PACKAGES_H

#include "base/cleanup.h"
#include "kernel/base/log.h"
#include "kernel/interpreter/distributions.h"
#include "sandbox/sandbox.h"

#include <jansson.h>

/* All borrowed. */
struct packages_facts {
    const struct distributions *found; /* the interpreter's distributions */
    const char *site;                  /* petri's own copy of IPython, which is never hidden, or "" */
    const json_t *listed;              /* names of distributions */
    const char *const *keep;           /* paths in areas that are never hidden; NULL-ended, or NULL */
    const json_t *inputs; /* paths of the configuration that are never hidden, also whole areas; NULL for none */
    const struct log *log;
};

/* What to hide, as session_create() takes it: a folder before those in it. All zero hides nothing. */
struct packages {
    struct session_mask *hide;
    size_t n;
};

/* Reads lists of files, those of 90 distributions (30,000 files) for some 10 ms. ret is the caller's: packages_fini().
 * 0, -ENOMEM, -E2BIG where there is too much of something, or -errno where a folder can't be read. */
int packages_hide(const struct packages_facts *facts, struct packages *ret) MUST_CHECK;
void packages_fini(struct packages *packages);

#endif
