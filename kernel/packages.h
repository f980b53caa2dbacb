/*
 * packages.h - the configuration's `packages`: which entries of the interpreter's folders cells do not see.
 *
 * Seen are the distributions that are listed, what these require, and what
 * petri's worker itself needs (IPython). All else in the folders that the
 * interpreter imports from is hidden: it is not mounted. The standard library
 * is always there. A folder that several distributions share (a namespace
 * package) is seen where one of them is.
 *
 * See: PyPA, "Core metadata specifications", "Recording installed projects".
 */
#ifndef PETRI_PACKAGES_H
#define PETRI_PACKAGES_H

#include "kernel/distributions.h"
#include "kernel/log.h"
#include "sandbox/sandbox.h"

#include <jansson.h>

/* What to hide, as session_create() takes it. All zero hides nothing. */
struct packages {
    struct session_hide hide[DISTRIBUTIONS_FOLDERS];
    size_t n;
};

/* site: petri's own copy of IPython, of which nothing is hidden. ret is the caller's: packages_fini(). 0, -ENOMEM,
 * -E2BIG where a folder has too many entries, or -errno where one can't be read. */
int packages_hide(const struct distributions *found, const char *site, const json_t *listed, const struct log *log,
                  struct packages *ret) __attribute__((warn_unused_result));
void packages_fini(struct packages *packages);

#endif
