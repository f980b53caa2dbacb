/*
 * private.h - databases that are for their owner alone.
 *
 * What cells were told and what they said is kept in them. SQLite gives the
 * files that it makes beside a database (-wal, -shm) the database's own mode.
 */
#ifndef PETRI_PRIVATE_H
#define PETRI_PRIVATE_H

#include "kernel/cleanup.h"
#include "kernel/log.h"

/*
 * Makes the database's file (0600) and the folders above it (0700) where they
 * are not there yet; to be called before SQLite opens it. One that is there, the
 * files beside it, and its folder where that is petri's own (by its name, as in
 * ~/.local/share/petri), are closed to others; what can't be is a warning in the
 * log. 0 or -errno.
 */
int private_database(const char *path, const struct log *log) KERNEL_MUST_CHECK;

#endif
