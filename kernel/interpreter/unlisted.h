/*
 * unlisted.h - finds the entries of an area that are hidden from cells, by the rule in areas.h.
 *
 * A folder that only shown distributions name is shown as a whole. One that
 * hidden ones name too (a namespace package, share/jupyter) is read, as deep as
 * necessary. A module's cache (__pycache__) is shown only if the module is,
 * because a loader can run it without the module. A folder that can't be opened
 * is hidden.
 */
#ifndef PETRI_UNLISTED_H
#define PETRI_UNLISTED_H

#include "base/cleanup.h"
#include "kernel/interpreter/areas.h"
#include "sandbox/sandbox.h"

/*
 * Finds what is hidden in an area; in ret_hide names is NULL where the whole
 * folder is. interpreter: the program; links to it are always shown; listed: an
 * object with the names of the distributions that are shown. ret_hide is the
 * caller's: unlisted_fini(). 1, 0 where nothing is hidden, -ENOMEM, -E2BIG where
 * there is too much, or -errno where the folder can't be read.
 */
int unlisted_find(const struct area *area, const char *interpreter, const json_t *listed,
                  struct session_mask *ret_hide) MUST_CHECK;
void unlisted_fini(struct session_mask *hide);

#endif
