/*
 * unlisted.h - what of an area cells don't see, entry by entry, by the rule in areas.h.
 *
 * A folder that only shown distributions name is left as it is. One that
 * hidden ones name, too (a namespace package, share/jupyter), is looked into,
 * as deep as is needed. A cache of a module (__pycache__) is shown where the
 * module is: a loader runs it without. What can't be looked into is hidden.
 */
#ifndef PETRI_UNLISTED_H
#define PETRI_UNLISTED_H

#include "base/cleanup.h"
#include "kernel/interpreter/areas.h"
#include "sandbox/sandbox.h"

/*
 * Finds what is hidden of an area: names is NULL where all of the folder is.
 * interpreter: the program, links to which are of no distribution; listed: an
 * object with the names of the distributions that are shown. ret_hide is the
 * caller's: unlisted_fini(). 1, 0 where nothing is hidden, -ENOMEM, -E2BIG where
 * there is too much, or -errno where the folder can't be read.
 */
int unlisted_find(const struct area *area, const char *interpreter, const json_t *listed,
                  struct session_mask *ret_hide) MUST_CHECK;
void unlisted_fini(struct session_mask *hide);

#endif
