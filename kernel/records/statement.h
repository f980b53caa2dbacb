/*
 * statement.h - SQLite statements that are prepared once for each database, and bound by a format.
 */
#ifndef PETRI_STATEMENT_H
#define PETRI_STATEMENT_H

#include <sqlite3.h>
#include <stdbool.h>

static inline void cleanup_statement(sqlite3_stmt **statement) {
    if (!*statement)
        return;
    sqlite3_reset(*statement);
    sqlite3_clear_bindings(*statement);
}
#define auto_statement __attribute__((cleanup(cleanup_statement))) sqlite3_stmt *

/*
 * A statement of the database's own that is sql, which is not in use; its
 * parameters bound in their order. It is kept until statement_close(), so the
 * texts of sql have to be few. format: t const char *
 * ("" is bound as NULL), i int64_t, b const void * and size_t (NULL is bound as
 * NULL). Texts and blobs are borrowed until the statement's variable ends. NULL
 * where it fails: sqlite3_errmsg() says why.
 */
sqlite3_stmt *statement_make(struct sqlite3 *db, const char *sql, const char *format, ...);

/* Finalizes the statements that are kept, and closes the database. NULL is allowed. */
void statement_close(struct sqlite3 *db);

/* Runs a statement that gives no rows. */
bool statement_run(struct sqlite3 *db, const char *sql, const char *format, ...);

/*
 * Sets up a database that other processes may be setting up at the same time:
 * runs sql, which may run several times, until it succeeds, for at most
 * STATEMENT_OPENING_MS. SQLite itself does not wait when it changes the journal's
 * mode. After this, statements wait busy_ms for other writers. SQLITE_OK, or
 * another of its results.
 */
enum { STATEMENT_OPENING_MS = 5000 };
int statement_set_up(struct sqlite3 *db, const char *sql, int busy_ms);

/* A column as text; "" where it is NULL. Borrowed until the next step. */
const char *statement_text(sqlite3_stmt *statement, int column);

#endif
