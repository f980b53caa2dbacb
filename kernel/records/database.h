/*
 * database.h - SQLite databases that another user may have changed.
 *
 * Each file that SQLite opens for one, at whatever moment, is opened by the
 * descriptor of its folder and looked at (private.h): so nothing that is put in
 * its place, or in that of its log, is read or written. A database is not
 * trusted: no trigger, view, or function of its schema runs, and one with another
 * schema than petri's is not used.
 *
 * See: SQLite, "Defense Against The Dark Arts", xSetSystemCall in sqlite3_vfs.
 */
#ifndef PETRI_DATABASE_H
#define PETRI_DATABASE_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/base/log.h"

#include <sqlite3.h>
#include <stdbool.h>

/*
 * Opens the database at an absolute path; with make, the file (0600) and the
 * folders above it (0700) are made where they are not there. 0 with ret_db, the
 * caller's (database_close()), or -errno with a clause in ret_error. Where
 * permissions of others can't be removed there is a warning in the log.
 */
int database_open(const char *path, bool make, const struct log *log, sqlite3 **ret_db,
                  struct error *ret_error) MUST_CHECK;

/* Whether its schema is what the statements of sql make in an empty database. 0, or -EPROTO with a clause in ret_error;
 * -EIO, then sqlite3_errmsg() says why. */
int database_check_schema(sqlite3 *db, const char *sql, struct error *ret_error) MUST_CHECK;

/* What was refused to SQLite last, as a clause; "" where nothing was. */
const char *database_refused(void);

/* NULL is allowed. */
void database_close(sqlite3 *db);

#endif
