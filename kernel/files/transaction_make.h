/*
 * transaction_make.h - one change of a transaction that is decided; it can be taken up again where a kernel was killed.
 */
#ifndef PETRI_TRANSACTION_MAKE_H
#define PETRI_TRANSACTION_MAKE_H

#include "base/cleanup.h"
#include "kernel/files/journal.h"

/*
 * Makes a change, or what is left of it to be made. own_fd is the folder in which
 * files are staged, parent_fd the one that the path's last name is in. What
 * transaction_result() says of it.
 */
int transaction_make(int own_fd, int parent_fd, const char *name, struct journal_change *change) MUST_CHECK;

#endif
