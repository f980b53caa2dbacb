/*
 * history.c - stores cells by session, in the order in which they ran, and keeps the totals of cells and bytes.
 *
 * A number is not unique in a session, because one can go back, and branches run beside it: what has run stays.
 * A cell is stored in one transaction, with the totals and the removal of old
 * cells. The totals make it cheap to check the bounds; over the bounds more cells
 * than necessary are dropped, so that it is done seldom. A session gets its
 * number with its first cell, and loses it if that cell can't be stored. Each
 * access type is one SQL statement that reads backwards with a limit; the result
 * is then reversed.
 *
 * See: Jupyter messaging, "History".
 */

#include "history.h"

#include "kernel/base/clock.h"
#include "kernel/base/paths.h"
#include "kernel/jupyter/reply.h"
#include "kernel/records/redact.h"
#include "kernel/records/statement.h"
#include "protocol/text.h"

#include <errno.h>
#include <string.h>

enum {
    BUSY_MS = 200, /* to wait for another kernel that writes; after that the cell is not stored, and the log says so */
    GLOB_BYTES_MAX = 500, /* a pattern of many stars takes long */
    ENTRIES_MAX = 100000, /* of one reply */
    FAILURES_MAX = 3,     /* after so many there is no history: somebody may be removing its files once */
    ROOM_PART = 16,       /* the part of the bounds that is freed once they are reached, so that it is done seldom */
};

static const char pragmas[] = "PRAGMA journal_mode = WAL;"
                              "PRAGMA synchronous = NORMAL;"
                              "PRAGMA cache_size = -512;" /* KiB: what is read again is in the page cache, too */
                              "PRAGMA journal_size_limit = 1048576;";

/* The line is the cell's number, the step counts all that the session has stored. */
#define MAKE_CELLS                                                                                                     \
    "CREATE TABLE IF NOT EXISTS cells("                                                                                \
    "    session INTEGER NOT NULL, step INTEGER NOT NULL, line INTEGER NOT NULL, source TEXT NOT NULL,"                \
    "    PRIMARY KEY(session, step)) WITHOUT ROWID;"
/* As it was while the last cell of a number was all that stayed. */
#define MAKE_CELLS_BY_LINE                                                                                             \
    "CREATE TABLE IF NOT EXISTS cells("                                                                                \
    "    session INTEGER NOT NULL, line INTEGER NOT NULL, source TEXT NOT NULL,"                                       \
    "    PRIMARY KEY(session, line)) WITHOUT ROWID;"
/* The totals are the number of cells and bytes. */
#define MAKE_OTHERS                                                                                                    \
    "CREATE TABLE IF NOT EXISTS sessions("                                                                             \
    "    session INTEGER PRIMARY KEY AUTOINCREMENT, started TEXT NOT NULL);"                                           \
    "CREATE TABLE IF NOT EXISTS totals("                                                                               \
    "    only INTEGER PRIMARY KEY CHECK(only = 1), cells INTEGER NOT NULL,"                                            \
    "    bytes INTEGER NOT NULL);"                                                                                     \
    "INSERT OR IGNORE INTO totals(only, cells, bytes)"                                                                 \
    "    SELECT 1, count(*), coalesce(sum(length(CAST(source AS BLOB))), 0) FROM cells"                                \
    "    WHERE NOT EXISTS (SELECT 1 FROM totals);"

static const char schema[] = MAKE_CELLS MAKE_OTHERS;
static const char schema_by_line[] = MAKE_CELLS_BY_LINE MAKE_OTHERS;
static const char from_by_line[] =
    "ALTER TABLE cells RENAME TO cells_by_line;" MAKE_CELLS "INSERT INTO cells(session, step, line, source)"
    "    SELECT session, line, line, source FROM cells_by_line;"
    "DROP TABLE cells_by_line;";

int history_default_path(char *buf, size_t size) {
    return paths_of_user("XDG_DATA_HOME", ".local/share", "petri/history.sqlite", buf, size);
}

void history_init(struct history *history, const char *path, const struct redaction *redaction, const struct log *log) {
    *history = (struct history){
        .redaction = redaction, .log = log, .cells_max = HISTORY_CELLS_MAX, .bytes_max = HISTORY_BYTES_MAX};
    snprintf(history->path, sizeof history->path, "%s", path);
}

void history_fini(struct history *history) {
    database_close(history->db, &history->files);
    *history = (struct history){0};
}

static void complain(const struct history *history, const char *what) {
    log_write(history->log, LOG_LEVEL_WARNING, "the history %s %s: %s", history->path, what,
              sqlite3_errmsg(history->db));
}

/* Has a database of before keep what it has; another kernel may be doing the same. 0, or -errno. */
static int take_by_line(sqlite3 *db) {
    struct error error;
    if (statement_set_up(db, "BEGIN IMMEDIATE", BUSY_MS) != SQLITE_OK)
        return -EIO;
    const bool is_taken = database_check_schema(db, schema_by_line, &error) < 0 ||
                          sqlite3_exec(db, from_by_line, NULL, NULL, NULL) == SQLITE_OK;
    if (is_taken && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return -EIO;
}

static int open_database(struct history *history, struct error *ret_error) {
    int r = database_open(history->path, true, history->log, &history->db, ret_error);
    if (r < 0)
        return r;
    sqlite3_limit(history->db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, GLOB_BYTES_MAX);
    if (statement_set_up(history->db, pragmas, BUSY_MS) != SQLITE_OK ||
        statement_set_up(history->db, schema, BUSY_MS) != SQLITE_OK)
        return -EIO;
    if (database_check_schema(history->db, schema_by_line, ret_error) == 0 && take_by_line(history->db) < 0)
        return -EIO;
    return database_check_schema(history->db, schema, ret_error);
}

/* Whether there is a database to work with: a new one, if somebody has removed its files. */
static bool is_open(struct history *history) {
    struct error error;
    if (history->db && !database_files_are_there(history->db, &history->files)) {
        database_close(steal_pointer(history->db), &history->files);
        history->session = 0;
    }
    if (history->db || history->failures == FAILURES_MAX || history->path[0] == '\0')
        return history->db != NULL;
    int r = open_database(history, &error);
    if (r == -EIO && history->db)
        error_set(&error, EIO, "%s", database_refused()[0] ? database_refused() : sqlite3_errmsg(history->db));
    if (r < 0) {
        log_write(history->log, LOG_LEVEL_WARNING, "there is no history in %s: %s", history->path, error.text);
        database_close(steal_pointer(history->db), &history->files);
        history->failures++;
    } else {
        database_files_note(history->db, &history->files);
        history->failures = 0;
    }
    return r == 0;
}

static sqlite3_stmt *prepare_sql(const struct history *history, const char *sql) {
    sqlite3_stmt *statement = statement_make(history->db, sql, "");
    if (!statement)
        complain(history, "can't be read");
    return statement;
}

/* Gives the session its number, with its first cell: a kernel that runs no cell stores nothing. */
static bool begin_session(struct history *history) {
    char now[32];
    if (history->session > 0)
        return true;
    clock_iso(now);
    if (!statement_run(history->db, "INSERT INTO sessions(started) VALUES(?1)", "t", now))
        return false;
    history->session = sqlite3_last_insert_rowid(history->db);
    return true;
}

/* Stores a cell as the session's last one. */
static bool insert(const struct history *history, int number, const struct bytes *code) {
    auto_statement insert =
        prepare_sql(history, "INSERT INTO cells(session, step, line, source)"
                             " SELECT ?1, coalesce(max(step), 0) + 1, ?2, ?3 FROM cells WHERE session = ?1");
    return statement_run(history->db, "UPDATE totals SET cells = cells + 1, bytes = bytes + ?1", "i",
                         (int64_t)code->n) &&
           insert && sqlite3_bind_int64(insert, 1, history->session) == SQLITE_OK &&
           sqlite3_bind_int(insert, 2, number) == SQLITE_OK &&
           sqlite3_bind_text64(insert, 3, code->n ? code->data : "", code->n, SQLITE_STATIC, SQLITE_UTF8) ==
               SQLITE_OK &&
           sqlite3_step(insert) == SQLITE_DONE;
}

/* One of the totals. */
static int64_t total(const struct history *history, const char *sql) {
    auto_statement statement = prepare_sql(history, sql);
    return statement && sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
}

/* Drops the oldest cells, until the others are within the bounds. */
static bool drop_oldest_cells(const struct history *history) {
    int64_t cells = total(history, "SELECT cells FROM totals");
    int64_t bytes = total(history, "SELECT bytes FROM totals");
    if (cells <= history->cells_max && bytes <= history->bytes_max)
        return true;
    int64_t most_cells = history->cells_max - history->cells_max / ROOM_PART;
    int64_t most_bytes = history->bytes_max - history->bytes_max / ROOM_PART;
    int64_t session = 0, step = 0, gone_cells = 0, gone_bytes = 0;
    auto_statement oldest =
        prepare_sql(history, "SELECT session, step, length(CAST(source AS BLOB)) FROM cells ORDER BY session, step");
    while ((cells - gone_cells > most_cells || bytes - gone_bytes > most_bytes) && oldest &&
           sqlite3_step(oldest) == SQLITE_ROW) {
        session = sqlite3_column_int64(oldest, 0);
        step = sqlite3_column_int64(oldest, 1);
        gone_cells++;
        gone_bytes += sqlite3_column_int64(oldest, 2);
    }
    sqlite3_reset(oldest);
    return statement_run(history->db, "DELETE FROM cells WHERE (session, step) <= (?1, ?2)", "ii", session, step) &&
           statement_run(history->db, "UPDATE totals SET cells = cells - ?1, bytes = bytes - ?2", "ii", gone_cells,
                         gone_bytes) &&
           statement_run(history->db, "DELETE FROM sessions WHERE session < (SELECT min(session) FROM cells)", "");
}

static bool store(struct history *history, int number, const struct bytes *code) {
    if (!statement_run(history->db, "BEGIN IMMEDIATE", ""))
        return false;
    return begin_session(history) && insert(history, number, code) && drop_oldest_cells(history) &&
           statement_run(history->db, "COMMIT", "");
}

void history_store(struct history *history, int number, const json_t *code) {
    auto_bytes kept = {0};
    int64_t session = history->session;
    if (!is_open(history))
        return;
    redact_code(history->redaction, json_string_value(code), json_string_length(code), &kept);
    if (!bytes_ok(&kept) || kept.n > HISTORY_CELL_BYTES_MAX) {
        log_write(history->log, LOG_LEVEL_WARNING, "a cell of %zu bytes is not kept in the history",
                  json_string_length(code));
    } else if (!store(history, number, &kept)) {
        complain(history, "could not take a cell");
        history->session = session;
        statement_run(history->db, "ROLLBACK", "");
    }
}

/*
 * The SQL of each access type. Rows are session, line, source, the last first.
 * The parameters are the fields of struct asked, in their order.
 */
static const struct access {
    const char *type;
    bool unique;   /* each source once, at its last place */
    bool own_is_0; /* entries of this session are returned with session 0 */
    const char *sql;
} accesses[] = {
    {"range", false, true,
     "SELECT session, line, source FROM cells WHERE session = ?1 AND line >= ?2 AND line < ?3"
     " ORDER BY line DESC, step DESC LIMIT ?4"},
    {"tail", false, false, "SELECT session, line, source FROM cells ORDER BY session DESC, step DESC LIMIT ?4"},
    {"search", false, false,
     "SELECT session, line, source FROM cells WHERE source GLOB ?5"
     " ORDER BY session DESC, step DESC LIMIT ?4"},
    /* SQLite takes the other columns from the row that has the max(). */
    {"search", true, false,
     "SELECT session, line, source FROM"
     " (SELECT session, step, line, source, max(session * 2147483648 + step) FROM cells"
     " WHERE source GLOB ?5 GROUP BY source)"
     " ORDER BY session DESC, step DESC LIMIT ?4"},
};

struct asked {
    int64_t session; /* as stored */
    int64_t start;
    int64_t stop; /* not included */
    int64_t n;
    const char *pattern;
};

static int64_t integer_of(const json_t *content, const char *key, int64_t otherwise) {
    const json_t *value = json_object_get(content, key);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* This session's number, or the next free one if it has none yet. */
static int64_t own_session(struct history *history) {
    if (history->session > 0)
        return history->session;
    auto_statement last = prepare_sql(history, "SELECT coalesce(max(session), 0) + 1 FROM sessions");
    return last && sqlite3_step(last) == SQLITE_ROW ? sqlite3_column_int64(last, 0) : 1;
}

/* 0 is this session, -1 the one before. */
static void read_asked(struct history *history, const json_t *content, struct asked *asked) {
    const char *pattern = json_string_value(json_object_get(content, "pattern"));
    int64_t session = integer_of(content, "session", 0);
    int64_t stop = integer_of(content, "stop", 0);
    int64_t n = integer_of(content, "n", ENTRIES_MAX);
    *asked = (struct asked){
        .session = session > 0 ? session : own_session(history) + session,
        .start = integer_of(content, "start", 0),
        .stop = stop > 0 ? stop : INT64_MAX,
        .n = n < 0             ? 0
             : n > ENTRIES_MAX ? ENTRIES_MAX
                               : n,
        .pattern = pattern ? pattern : "*",
    };
}

static bool bind_asked(sqlite3_stmt *statement, const struct asked *asked) {
    const int64_t numbers[] = {asked->session, asked->start, asked->stop, asked->n};
    int count = sqlite3_bind_parameter_count(statement);
    for (int i = 0; i < (int)(sizeof numbers / sizeof numbers[0]); i++)
        if (i < count && sqlite3_bind_int64(statement, i + 1, numbers[i]) != SQLITE_OK)
            return false;
    return count < 5 || sqlite3_bind_text(statement, 5, asked->pattern, -1, SQLITE_STATIC) == SQLITE_OK;
}

/* Outputs are not stored, so they are null where the client asks for them. In a range this session is 0. */
static json_t *entry(sqlite3_stmt *row, int64_t called_0, bool with_output) {
    int64_t session = sqlite3_column_int64(row, 0);
    json_t *source = text_to_json((const char *)sqlite3_column_text(row, 2), (size_t)sqlite3_column_bytes(row, 2));
    json_t *what = with_output ? json_pack("[o, n]", source) : source;
    return json_pack("[I, I, o]", (json_int_t)(session == called_0 ? 0 : session),
                     (json_int_t)sqlite3_column_int64(row, 1), what);
}

/* Reverses entries, which are stolen. */
static json_t *turn_round(json_t *entries) {
    json_t *turned = json_array();
    for (size_t n = json_array_size(entries); n > 0; n--)
        json_array_append(turned, json_array_get(entries, n - 1));
    json_decref(entries);
    return turned;
}

static json_t *read_entries(struct history *history, const struct access *access, const json_t *content) {
    json_t *entries = json_array();
    struct asked asked;
    auto_statement statement = prepare_sql(history, access->sql);
    read_asked(history, content, &asked);
    int64_t called_0 = access->own_is_0 && integer_of(content, "session", 0) == 0 ? asked.session : -1;
    bool with_output = json_is_true(json_object_get(content, "output"));
    if (!statement || !bind_asked(statement, &asked))
        return entries;
    while (sqlite3_step(statement) == SQLITE_ROW)
        json_array_append_new(entries, entry(statement, called_0, with_output));
    return turn_round(entries);
}

static const struct access *find_access(const json_t *content) {
    const char *type = json_string_value(json_object_get(content, "hist_access_type"));
    bool unique = json_is_true(json_object_get(content, "unique"));
    const struct access *found = NULL;
    for (size_t i = 0; type && i < sizeof accesses / sizeof accesses[0]; i++)
        if (strcmp(accesses[i].type, type) == 0 && (!found || accesses[i].unique == unique))
            found = &accesses[i];
    return found;
}

json_t *history_find(struct history *history, const json_t *content, const char **ret_why) {
    const struct access *access = find_access(content);
    if (!access) {
        *ret_why = "hist_access_type has to be \"range\", \"tail\" or \"search\".";
        return NULL;
    }
    return is_open(history) ? read_entries(history, access, content) : json_array();
}

void history_request(struct history *history, struct jupyter *jupyter, const struct request *request) {
    const char *why = "";
    json_t *entries = history_find(history, request->message.content, &why);
    if (entries)
        reply_send(jupyter, request, "history_reply", NULL,
                   json_pack("{s:s, s:o}", "status", "ok", "history", entries));
    else
        reply_error(jupyter, request, "ValueError", why);
}
