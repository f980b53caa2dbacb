/*
 * transaction_make.h - makes one change of a committed transaction, or takes it back; both can be resumed.
 */
#ifndef PETRI_TRANSACTION_MAKE_H
#define PETRI_TRANSACTION_MAKE_H

#include "base/cleanup.h"
#include "kernel/files/journal.h"

/*
 * Makes a change, or the rest of it. own_fd is the folder with the staged files,
 * parent_fd the folder of the path's last name. Returns what transaction_result()
 * is to return for it.
 */
int transaction_make(int own_fd, int parent_fd, const char *name, struct journal_change *change) MUST_CHECK;

/*
 * Takes back a change, or what is made of it: the path has again what it had, and
 * the new file is staged again. What other programs have done meanwhile stays. 0
 * or -errno.
 */
int transaction_take_back(int own_fd, int parent_fd, const char *name, struct journal_change *change) MUST_CHECK;

/*
 * All changes are made, or this one is taken back: removes what it has left under
 * the staged file's name, if it is known: what it has replaced or removed, or the
 * staged file. Anything else is renamed to a name of its own, and kept. 0 or
 * -errno.
 */
int transaction_let_go(int own_fd, const struct journal_change *change, const struct journal_version *known) MUST_CHECK;

#endif
