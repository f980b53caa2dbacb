/* statement.c - finds or prepares, and binds, in one call, and retries where SQLite doesn't wait by itself. */

#include "statement.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static int bind_argument(sqlite3_stmt *statement, int at, char kind, va_list *args) {
    if (kind == 'i')
        return sqlite3_bind_int64(statement, at, va_arg(*args, int64_t));
    if (kind == 't') {
        const char *text = va_arg(*args, const char *);
        return text[0] ? sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC) : sqlite3_bind_null(statement, at);
    }
    const void *data = va_arg(*args, const void *);
    size_t bytes = va_arg(*args, size_t);
    return data ? sqlite3_bind_blob64(statement, at, data, bytes, SQLITE_STATIC) : sqlite3_bind_null(statement, at);
}

/* SQLite has a list of those that were prepared. */
static sqlite3_stmt *find(sqlite3 *db, const char *sql) {
    sqlite3_stmt *kept = sqlite3_next_stmt(db, NULL);
    while (kept && (sqlite3_stmt_busy(kept) || strcmp(sqlite3_sql(kept), sql) != 0))
        kept = sqlite3_next_stmt(db, kept);
    return kept;
}

static sqlite3_stmt *make(sqlite3 *db, const char *sql, const char *format, va_list *args) {
    sqlite3_stmt *statement = find(db, sql);
    int r = statement ? SQLITE_OK : sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
    for (int i = 0; r == SQLITE_OK && format[i]; i++)
        r = bind_argument(statement, i + 1, format[i], args);
    if (r == SQLITE_OK)
        return statement;
    sqlite3_finalize(statement);
    return NULL;
}

sqlite3_stmt *statement_make(sqlite3 *db, const char *sql, const char *format, ...) {
    va_list args;
    va_start(args, format);
    sqlite3_stmt *statement = make(db, sql, format, &args);
    va_end(args);
    return statement;
}

void statement_close(sqlite3 *db) {
    sqlite3_stmt *kept;
    while (db && (kept = sqlite3_next_stmt(db, NULL)))
        sqlite3_finalize(kept);
    sqlite3_close(db);
}

bool statement_run(sqlite3 *db, const char *sql, const char *format, ...) {
    va_list args;
    va_start(args, format);
    auto_statement statement = make(db, sql, format, &args);
    va_end(args);
    return statement && sqlite3_step(statement) == SQLITE_DONE;
}

const char *statement_text(sqlite3_stmt *statement, int column) {
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text ? (const char *)text : "";
}

int statement_set_up(sqlite3 *db, const char *sql, int busy_ms) {
    enum { STEP_MS = 20 };
    int r = SQLITE_BUSY;
    sqlite3_busy_timeout(db, 0); /* otherwise each try would wait by itself */
    for (int i = 0; (r == SQLITE_BUSY || r == SQLITE_LOCKED) && i < STATEMENT_OPENING_MS / STEP_MS; i++) {
        r = sqlite3_exec(db, sql, NULL, NULL, NULL);
        if (r == SQLITE_BUSY || r == SQLITE_LOCKED)
            sqlite3_sleep(STEP_MS);
    }
    sqlite3_busy_timeout(db, busy_ms);
    return r;
}
