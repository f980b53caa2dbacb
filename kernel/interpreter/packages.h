/*
 * packages.h - the configuration's `packages`: what of distributions cells do not see.
 *
 * Seen are the distributions that are listed, what these require, and what
 * petri's worker itself needs (IPython), as far as the interpreter imports from
 * where they are. Everything of others is hidden in all folders that cells see:
 * it is not mounted. The standard library is always there. What belongs to a
 * distribution its list of files says; see areas.h, unlisted.h.
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

/* What decides. All borrowed. */
struct packages_facts {
    const struct distributions *found; /* what there is for the interpreter */
    const char *site;                  /* petri's own copy of IPython, of which nothing is hidden, or "" */
    const json_t *listed;              /* names of distributions */
    const char *const *keep;           /* paths in an area that cells see all the same; NULL-ended, or NULL */
    const json_t *inputs;              /* the same by the configuration, also whole areas; NULL for none */
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
