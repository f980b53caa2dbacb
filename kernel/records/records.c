/*
 * records.c - stores each run in one transaction, which also makes room for it.
 *
 * The size is that of used pages, including those of the open transaction, so the
 * bound is checked before the commit: where a run makes the database too large,
 * the oldest runs are dropped, or the run is not stored. SQLite's automatic
 * checkpoints are off, because they would delay a reply; records_tidy() does them
 * after it, and makes some room for the next run. A blob is deleted when no run
 * refers to it.
 */

#include "records.h"

#include "kernel/base/paths.h"
#include "kernel/records/statement.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    VERSION = 2,       /* of the tables */
    BUSY_MS = 500,     /* to wait for other kernels that write */
    TIDY_RUNS = 200,   /* runs that are stored between two removals of expired ones */
    WAL_PAGES = 1000,  /* of 4 KiB, before they are moved into the database */
    FREE_PAGES = 4000, /* returned to the file system at a time */
    ROOM_PART = 16, /* the part of the size that is kept free, so that a run seldom has to make room before its reply */
    MANY_RUNS = 1000, /* dropped at a time to make room */
    DIGESTS = 100,    /* of files; more than a user has interpreters */
};

/* Only has an effect before anything is written, and waits for a writer even if it changes nothing. */
static const char vacuum_pragma[] = "PRAGMA auto_vacuum = INCREMENTAL;";

static const char pragmas[] = "PRAGMA journal_mode = WAL;"
                              "PRAGMA synchronous = NORMAL;"
                              "PRAGMA cache_size = -512;" /* KiB: what is read again is in the page cache, too */
                              "PRAGMA journal_size_limit = 16777216;"
                              "PRAGMA foreign_keys = ON;";

/* Makes what is missing: all of it, or what has come with a later version. */
static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS environments(sha256 TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS runs("
    "    n INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL UNIQUE, session_id TEXT NOT NULL, task TEXT,"
    "    outcome TEXT NOT NULL, started TEXT NOT NULL, started_ms INTEGER NOT NULL, wall_ms INTEGER NOT NULL,"
    "    summary TEXT, environment TEXT, cache_key TEXT, bytes INTEGER NOT NULL, body TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS runs_by_time ON runs(started_ms);"
    "CREATE INDEX IF NOT EXISTS runs_by_task ON runs(task, n) WHERE task IS NOT NULL;"
    "CREATE INDEX IF NOT EXISTS runs_by_key ON runs(cache_key, started_ms) WHERE cache_key IS NOT NULL;"
    "CREATE TABLE IF NOT EXISTS blobs(sha256 TEXT PRIMARY KEY, data BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS inputs("
    "    run INTEGER NOT NULL REFERENCES runs(n) ON DELETE CASCADE, path TEXT NOT NULL, sha256 TEXT NOT NULL,"
    "    PRIMARY KEY(run, path)) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS inputs_by_content ON inputs(sha256);"
    "CREATE TABLE IF NOT EXISTS tasks("
    "    task TEXT PRIMARY KEY, runs INTEGER NOT NULL, wall_ms INTEGER NOT NULL, artifact_bytes INTEGER NOT NULL)"
    "    WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS digests(file TEXT PRIMARY KEY, sha256 TEXT NOT NULL) WITHOUT ROWID;"
    "PRAGMA user_version = 2;"
    "COMMIT;";
_Static_assert(VERSION == 2, "the schema says it too");

int records_default_path(char *buf, size_t size) {
    return paths_of_user("XDG_DATA_HOME", ".local/share", "petri/records.sqlite", buf, size);
}

void records_close(struct records *records) {
    database_close(records->db, &records->files);
    *records = (struct records){0};
}

/* In place of SQLite's own checkpoints, which would come between a cell's end and its reply. */
static int note_wal(void *arg, sqlite3 *db, const char *name, int pages) {
    struct records *records = arg;
    (void)db;
    (void)name;
    records->wal_pages = pages;
    return SQLITE_OK;
}

static int version_of(sqlite3 *db) {
    auto_statement statement = statement_make(db, "PRAGMA user_version", "");
    return statement && sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int(statement, 0) : -1;
}

/* A new database has version 0. 0; -EPROTO where a later version of petri, or another program, has made it; -EIO. */
static int make_tables(sqlite3 *db, struct error *ret_error) {
    int version = version_of(db);
    if (version < 0 || version > VERSION)
        return error_set(ret_error, version > 0 ? EPROTO : EIO, "it was made by a later version of petri");
    if (version < VERSION && sqlite3_exec(db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
        return -EIO;
    }
    return database_check_schema(db, schema, ret_error);
}

static int set_up(struct records *records, struct error *ret_error) {
    sqlite3 *db = records->db;
    if (version_of(db) == 0 && statement_set_up(db, vacuum_pragma, STATEMENT_OPENING_MS) != SQLITE_OK)
        return -EIO;
    if (statement_set_up(db, pragmas, STATEMENT_OPENING_MS) != SQLITE_OK)
        return -EIO;
    sqlite3_wal_hook(db, note_wal, records);
    int made = make_tables(db, ret_error);
    database_files_note(db, &records->files);
    sqlite3_busy_timeout(db, BUSY_MS);
    return made;
}

/* Closes a database that can't be used. For -EIO the reason is SQLite's, or that of a refused file. */
static void give_up(struct records *records, int r, struct error *ret_error) {
    if (r == -EIO && records->db)
        error_set(ret_error, EIO, "%s", database_refused()[0] ? database_refused() : sqlite3_errmsg(records->db));
    database_close(steal_pointer(records->db), &records->files);
}

void records_open(struct records *records, const struct records_options *options, const struct log *log) {
    struct error error;
    *records = (struct records){.log = log, .keep_days = options->keep_days, .max_bytes = options->max_bytes};
    if (options->path[0] == '\0')
        return;
    snprintf(records->path, sizeof records->path, "%s", options->path);
    int r = database_open(records->path, true, log, &records->db, &error);
    if (r == 0)
        r = set_up(records, &error);
    if (r < 0) {
        give_up(records, r, &error);
        log_write(log, LOG_LEVEL_WARNING, "runs are not recorded in %s: %s", records->path, error.text);
        return;
    }
    records->since_tidy = TIDY_RUNS;
    records_tidy(records);
}

int records_open_existing(struct records *records, const char *path, const struct log *log, struct error *ret_error) {
    struct error cause;
    *records = (struct records){.log = log};
    snprintf(records->path, sizeof records->path, "%s", path);
    if (access(path, F_OK) < 0)
        return error_set(ret_error, ENOENT, "there are no run records in %s", path);
    int r = database_open(path, false, log, &records->db, &cause);
    if (r == 0) {
        sqlite3_busy_timeout(records->db, BUSY_MS);
        r = make_tables(records->db, &cause);
    }
    if (r < 0) {
        give_up(records, r, &cause);
        records_close(records);
        error_set(ret_error, -r, "the run records in %s can't be read: %s", path, cause.text);
    }
    return r;
}

static bool store_environment(sqlite3 *db, const struct record *record) {
    if (!record->environment)
        return true;
    auto_statement known =
        statement_make(db, "SELECT 1 FROM environments WHERE sha256 = ?1", "t", record->environment_sha256);
    if (known && sqlite3_step(known) == SQLITE_ROW)
        return true;
    auto_free char *text = json_dumps(record->environment, JSON_COMPACT | JSON_SORT_KEYS);
    return text && statement_run(db, "INSERT OR IGNORE INTO environments(sha256, json) VALUES(?1, ?2)", "tt",
                                 record->environment_sha256, text);
}

static bool store_inputs(sqlite3 *db, const struct record *record, int64_t run) {
    bool ok = true;
    for (size_t i = 0; ok && i < record->n_inputs; i++) {
        const struct record_input *input = &record->inputs[i];
        ok = statement_run(db, "INSERT OR REPLACE INTO inputs(run, path, sha256) VALUES(?1, ?2, ?3)", "itt", run,
                           input->path, input->sha256);
        if (ok && input->data)
            ok = statement_run(db, "INSERT OR IGNORE INTO blobs(sha256, data) VALUES(?1, ?2)", "tb", input->sha256,
                               input->data, input->bytes);
    }
    return ok;
}

static bool store_run(sqlite3 *db, const struct record *record) {
    auto_free char *body = json_dumps(record->body, JSON_COMPACT);
    if (!body)
        return false;
    int64_t bytes = (int64_t)strlen(body);
    for (size_t i = 0; i < record->n_inputs; i++)
        bytes += record->inputs[i].data ? (int64_t)record->inputs[i].bytes : 0;
    return statement_run(
        db,
        "INSERT INTO runs(run_id, session_id, task, outcome, started, started_ms, wall_ms, summary,"
        " environment, cache_key, bytes, body) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        "tttttiitttit", record->run_id, record->session_id, record->task, record->outcome, record->started,
        record->started_ms, record->wall_ms, record->summary, record->environment_sha256, record->cache_key, bytes,
        body);
}

static bool count_task(sqlite3 *db, const struct record *record) {
    return record->task[0] == '\0' || !record->ran ||
           statement_run(db,
                         "INSERT INTO tasks(task, runs, wall_ms, artifact_bytes) VALUES(?1, 1, ?2, ?3)"
                         " ON CONFLICT(task) DO UPDATE SET runs = runs + 1, wall_ms = wall_ms + excluded.wall_ms,"
                         " artifact_bytes = artifact_bytes + excluded.artifact_bytes",
                         "tii", record->task, record->wall_ms, record->artifact_bytes);
}

static int64_t value_of(sqlite3 *db, const char *sql) {
    auto_statement statement = statement_make(db, sql, "");
    return statement && sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
}

/* Bytes of used pages, including those of the open transaction. */
static int64_t used_bytes(sqlite3 *db) {
    return (value_of(db, "PRAGMA page_count") - value_of(db, "PRAGMA freelist_count")) *
           value_of(db, "PRAGMA page_size");
}

/* Drops the oldest runs before kept that have so many bytes together, and inputs that only they have. */
static bool forget_oldest_runs(sqlite3 *db, int64_t bytes, int64_t kept) {
    auto_statement last =
        statement_make(db,
                       "SELECT max(n) FROM (SELECT n, sum(bytes) OVER (ORDER BY n) - bytes AS before FROM"
                       " (SELECT n, bytes FROM runs WHERE n < ?1 ORDER BY n LIMIT ?2)) WHERE before < ?3",
                       "iii", kept, (int64_t)MANY_RUNS, bytes);
    if (!last || sqlite3_step(last) != SQLITE_ROW || sqlite3_column_type(last, 0) == SQLITE_NULL)
        return false;
    int64_t n = sqlite3_column_int64(last, 0);
    return statement_run(db,
                         "DELETE FROM blobs WHERE sha256 IN (SELECT sha256 FROM inputs WHERE run <= ?1) AND NOT EXISTS"
                         " (SELECT 1 FROM inputs WHERE inputs.sha256 = blobs.sha256 AND run > ?1)",
                         "i", n) &&
           statement_run(db, "DELETE FROM runs WHERE n <= ?1", "i", n);
}

static int64_t newest(sqlite3 *db) {
    return value_of(db, "SELECT coalesce(max(n), 0) FROM runs");
}

/* Drops the oldest runs before kept until the rest fits. Returns whether it does. */
static bool forget_until_it_fits(struct records *records, int64_t max_bytes, int64_t kept) {
    records->used_bytes = used_bytes(records->db);
    while (records->used_bytes > max_bytes && forget_oldest_runs(records->db, records->used_bytes - max_bytes, kept))
        records->used_bytes = used_bytes(records->db);
    return records->used_bytes <= max_bytes;
}

static bool store_all(struct records *records, const struct record *record) {
    sqlite3 *db = records->db;
    bool ok = store_environment(db, record) && store_run(db, record);
    return ok && store_inputs(db, record, sqlite3_last_insert_rowid(db)) && count_task(db, record);
}

/* Whether the run fits, now that it is in the open transaction. 0, -EFBIG, or -EAGAIN where older ones must go first.
 */
static int make_room(struct records *records, bool may_wait) {
    records->used_bytes = used_bytes(records->db);
    if (records->used_bytes <= records->max_bytes)
        return 0;
    if (!may_wait)
        return -EAGAIN;
    return forget_until_it_fits(records, records->max_bytes, newest(records->db)) ? 0 : -EFBIG;
}

static int store_once(struct records *records, const struct record *record, bool may_wait) {
    sqlite3 *db = records->db;
    bool begun = statement_run(db, "BEGIN IMMEDIATE", "");
    int r = begun && store_all(records, record) ? make_room(records, may_wait) : -EIO;
    if (r == 0 && !statement_run(db, "COMMIT", ""))
        r = -EIO;
    if (r == -EIO && !may_wait && sqlite3_errcode(db) == SQLITE_BUSY)
        r = -EAGAIN;
    if (r < 0 && r != -EAGAIN)
        log_write(records->log, LOG_LEVEL_WARNING, "run %s is not recorded in %s: %s", record->run_id, records->path,
                  r == -EFBIG ? "it is larger than the limit of all records together (max_bytes)" : sqlite3_errmsg(db));
    if (r < 0 && begun)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    records->since_tidy += r != -EAGAIN;
    return r;
}

/* Begins a new database in the place of one whose files are gone. */
static void begin_anew(struct records *records) {
    char path[PATH_MAX];
    const struct records_options options = {path, records->keep_days, records->max_bytes};
    const struct log *log = records->log;
    snprintf(path, sizeof path, "%s", records->path);
    log_write(log, LOG_LEVEL_WARNING, "the run records %s were removed: from now on runs are recorded in new ones",
              path);
    records_close(records);
    records_open(records, &options, log);
}

/* If the files are gone. What could be read of them may have the run. */
static int store_anew(struct records *records, const struct record *record) {
    begin_anew(records);
    if (!records->db)
        return -ENOENT;
    auto_statement found = statement_make(records->db, "SELECT 1 FROM runs WHERE run_id = ?1", "t", record->run_id);
    return found && sqlite3_step(found) == SQLITE_ROW ? 0 : store_once(records, record, true);
}

static bool files_are_there(const struct records *records) {
    return database_files_are_there(records->db, &records->files);
}

/* Looks for the files once more at the end, because they may be removed at any time before. */
int records_store(struct records *records, const struct record *record) {
    if (!records->db)
        return -ENOENT;
    int r = files_are_there(records) ? store_once(records, record, true) : -EAGAIN;
    return r == -EAGAIN || !files_are_there(records) ? store_anew(records, record) : r;
}

/* The first run after the log was moved into the database begins the log anew, and waits for the disk. */
int records_store_at_once(struct records *records, const struct record *record) {
    if (!records->db || records->wal_pages == 0)
        return -EAGAIN;
    sqlite3_busy_timeout(records->db, 0);
    int r = store_once(records, record, false);
    sqlite3_busy_timeout(records->db, BUSY_MS);
    return files_are_there(records) ? r : -EAGAIN;
}

/* Drops runs that are too old, and then what no run refers to. */
static bool forget_expired(struct records *records) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t days = (int64_t)now.tv_sec / 86400 - records->keep_days;
    return statement_run(records->db, "DELETE FROM runs WHERE started_ms < ?1", "i", days * 86400 * 1000) &&
           statement_run(records->db, "DELETE FROM blobs WHERE sha256 NOT IN (SELECT sha256 FROM inputs)", "") &&
           statement_run(records->db,
                         "DELETE FROM environments WHERE sha256 NOT IN"
                         " (SELECT environment FROM runs WHERE environment IS NOT NULL)",
                         "");
}

/* While other kernels write, this is left to the next run. */
static void tidy(struct records *records) {
    char vacuum[64];
    bool done = forget_expired(records);
    if (!done && sqlite3_errcode(records->db) == SQLITE_BUSY)
        return;
    records->since_tidy = 0;
    if (!done)
        log_write(records->log, LOG_LEVEL_WARNING, "the run records %s could not be tidied: %s", records->path,
                  sqlite3_errmsg(records->db));
    snprintf(vacuum, sizeof vacuum, "PRAGMA incremental_vacuum(%d)", FREE_PAGES);
    sqlite3_exec(records->db, vacuum, NULL, NULL, NULL);
}

/* How much tidying leaves, so that there is room for the next run. */
static int64_t max_bytes_ahead(const struct records *records) {
    return records->max_bytes - records->max_bytes / ROOM_PART;
}

/* Makes room, so that the next run does not have to do it before its reply. Left to the next run as above. */
static void make_room_ahead(struct records *records) {
    sqlite3 *db = records->db;
    records->used_bytes = used_bytes(db);
    if (records->used_bytes <= max_bytes_ahead(records) ||
        sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return;
    forget_until_it_fits(records, max_bytes_ahead(records), newest(db));
    if (sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
}

bool records_are_untidy(const struct records *records) {
    return records->db && (records->since_tidy >= TIDY_RUNS || records->used_bytes > max_bytes_ahead(records) ||
                           records->wal_pages > WAL_PAGES);
}

void records_tidy(struct records *records) {
    if (!records->db)
        return;
    if (records->since_tidy >= TIDY_RUNS)
        tidy(records);
    make_room_ahead(records);
    if (records->wal_pages > WAL_PAGES) {
        records->wal_pages = 0; /* pages that a reader still needs are moved the next time */
        sqlite3_wal_checkpoint_v2(records->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    }
}

bool records_find_digest(struct records *records, const char *file, char ret_hex[DIGEST_HEX]) {
    if (!records->db)
        return false;
    auto_statement found = statement_make(records->db, "SELECT sha256 FROM digests WHERE file = ?1", "t", file);
    const char *hex = found && sqlite3_step(found) == SQLITE_ROW ? (const char *)sqlite3_column_text(found, 0) : NULL;
    if (!hex || strlen(hex) != DIGEST_HEX - 1 || strspn(hex, "0123456789abcdef") != DIGEST_HEX - 1)
        return false;
    memcpy(ret_hex, hex, DIGEST_HEX);
    return true;
}

void records_store_digest(struct records *records, const char *file, const char *hex) {
    if (records->db && statement_run(records->db, "DELETE FROM digests WHERE (SELECT count(*) FROM digests) >= ?1", "i",
                                     (int64_t)DIGESTS))
        statement_run(records->db, "INSERT OR REPLACE INTO digests(file, sha256) VALUES(?1, ?2)", "tt", file, hex);
}
