/*
 * transaction_make.h - makes one change of a committed transaction; it can be resumed after petri was killed.
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

#endif
