/*
 * private.h - folders and files of databases that only their owner may read.
 *
 * They have code and outputs of cells. The folder is opened once, and each file
 * through its descriptor. A file that is a symbolic link, is not a regular file,
 * belongs to another user, or has several hard links is not touched.
 */
#ifndef PETRI_PRIVATE_H
#define PETRI_PRIVATE_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/base/host_file.h"
#include "kernel/base/log.h"

#include <limits.h>

/* What each file of a database has to be. */
extern const struct host_file private_file;

/*
 * Opens the folder of a database, whose path is absolute; with make, it is made
 * (0700), as those above it, but not below a folder of another user: with that
 * user's environment, as sudo(8) may keep it, petri would leave files there that
 * the user can't use. A folder that is petri's own (by its name, as in
 * ~/.local/share/petri) is closed to others. Its real path goes to ret_folder. A
 * descriptor, or -errno with a clause in ret_error: -EPERM where the folder is
 * another user's.
 */
int private_folder_open(const char *path, bool make, const struct log *log, char ret_folder[PATH_MAX],
                        struct error *ret_error) MUST_CHECK;

/*
 * Checks a database's file and SQLite's files beside it (-wal, -shm, -journal),
 * and removes the permissions of others; with make, an empty file is made where
 * there is none. Has to be called before SQLite opens it. 0, or -errno with a
 * clause in ret_error.
 */
int private_files_check(int folder_fd, const char *name, bool make, const struct log *log,
                        struct error *ret_error) MUST_CHECK;

#endif
