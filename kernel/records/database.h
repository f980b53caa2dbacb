/*
 * database.h - opens SQLite databases that another user or program may have changed.
 *
 * Each file that SQLite opens for a database is opened through the descriptor of
 * its folder, and checked (private.h), so a file that was put in the place of the
 * database or of its log is not read or written. No trigger, view or function of
 * a database's schema runs, and a database with a different schema than petri's
 * is not used.
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
#include <sys/types.h>

/*
 * Opens the database at an absolute path; with make, the file (0600) and the
 * folders above it (0700) are made if they don't exist. 0 with ret_db, the
 * caller's (database_close()), or -errno with a clause in ret_error. A file that
 * stays accessible to others is logged as a warning.
 */
int database_open(const char *path, bool make, const struct log *log, sqlite3 **ret_db,
                  struct error *ret_error) MUST_CHECK;

/* Whether its schema is what the statements of sql make in an empty database. 0, or -EPROTO with a clause in ret_error;
 * -EIO, then sqlite3_errmsg() says why. */
int database_check_schema(sqlite3 *db, const char *sql, struct error *ret_error) MUST_CHECK;

/* Why SQLite was last refused a file, as a clause; "" where it was not. */
const char *database_refused(void);

/* The files of an open database: SQLite's first ones, by which others find what is written. */
struct database_files {
    struct {
        dev_t device;
        ino_t inode; /* 0 where there is none */
    } of[2];         /* the database and its log */
};

/* Which files they are now, once a statement has run. */
void database_files_note(sqlite3 *db, struct database_files *ret_files);

/* Whether they are still there: if one was removed or replaced, what is written to the database is lost. */
bool database_files_are_there(sqlite3 *db, const struct database_files *files);

/* NULL is allowed, also for files that were never noted. If its files are no longer there, those that have their names
 * are not touched. */
void database_close(sqlite3 *db, const struct database_files *files);

#endif
