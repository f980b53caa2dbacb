/*
 * records_read.c - queries of the run records.
 *
 * Another program may have changed the database: text is made UTF-8, and JSON is
 * parsed with a cap and has to be an object. An id may be shortened, so two rows
 * are read: a second one means that the id is ambiguous.
 */

#include "kernel/records/records.h"
#include "kernel/records/statement.h"
#include "protocol/text.h"

#include <errno.h>
#include <string.h>

enum { MAX_VALUES = 8 << 20 }; /* JSON values in one record: some 800 MB of memory at most */

/* A column as a JSON string; its bytes may not be UTF-8. */
static json_t *column_text(sqlite3_stmt *row, int column) {
    const char *text = statement_text(row, column);
    return text_to_json(text, (size_t)sqlite3_column_bytes(row, column));
}

static json_t *row_of_list(sqlite3_stmt *row) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:I, s:o}", "run_id", column_text(row, 0), "session_id",
                     column_text(row, 1), "task", column_text(row, 2), "outcome", column_text(row, 3), "started",
                     column_text(row, 4), "wall_ms", (json_int_t)sqlite3_column_int64(row, 5), "summary",
                     column_text(row, 6));
}

json_t *records_list(struct records *records, const struct records_filter *filter) {
    auto_statement rows = statement_make(
        records->db,
        "SELECT run_id, session_id, task, outcome, started, wall_ms, summary FROM runs"
        " WHERE (?1 IS NULL OR task = ?1) AND (?2 IS NULL OR outcome = ?2) AND (?3 IS NULL OR session_id = ?3)"
        " ORDER BY n DESC LIMIT ?4",
        "ttti", filter->task ? filter->task : "", filter->outcome ? filter->outcome : "",
        filter->session_id ? filter->session_id : "", filter->limit);
    json_t *list = json_array();
    int r = SQLITE_ERROR;
    while (rows && (r = sqlite3_step(rows)) == SQLITE_ROW)
        json_array_append_new(list, row_of_list(rows));
    if (r == SQLITE_DONE)
        return list;
    json_decref(list);
    return NULL;
}

/* What of a record's body says where the run stands in its session's tree: the key, and where it is. */
#define TREE_PATHS                                                                                                     \
    "'$.execution_count', '$.report.image', '$.report.parent', '$.report.committed',"                                  \
    " '$.report.checkpoint', '$.report.fresh'"
static const char *const tree_keys[] = {"execution_count", "image", "parent", "committed", "checkpoint", "fresh"};

static json_t *row_of_session(sqlite3_stmt *row) {
    json_auto_t *values = NULL;
    json_t *run = row_of_list(row);
    const char *text = statement_text(row, 7);
    if (text_parse_capped(text, (size_t)sqlite3_column_bytes(row, 7), TEXT_DEPTH_LIMIT, MAX_VALUES, &values) < 0)
        values = NULL;
    for (size_t i = 0; i < sizeof tree_keys / sizeof tree_keys[0]; i++) {
        json_t *value = json_array_get(values, i);
        json_object_set_new(run, tree_keys[i], value ? json_incref(value) : json_null());
    }
    return run;
}

/* Whether all rows are of the session that the first one is of. */
static bool is_one_session(const json_t *runs) {
    const json_t *first = json_object_get(json_array_get(runs, 0), "session_id");
    size_t i;
    json_t *run;
    json_array_foreach(runs, i, run) {
        if (!json_equal(first, json_object_get(run, "session_id")))
            return false;
    }
    return true;
}

int records_of_session(struct records *records, const char *prefix, int64_t limit, json_t **ret_runs) {
    auto_statement rows =
        statement_make(records->db,
                       "SELECT run_id, session_id, task, outcome, started, wall_ms, summary, tree FROM"
                       " (SELECT n, run_id, session_id, task, outcome, started, wall_ms, summary,"
                       "  json_extract(CASE WHEN json_valid(body) THEN body ELSE '{}' END, " TREE_PATHS ") AS tree"
                       "  FROM runs WHERE substr(session_id, 1, length(?1)) = ?1 ORDER BY n DESC LIMIT ?2) ORDER BY n",
                       "ti", prefix, limit);
    json_auto_t *runs = json_array();
    int r = SQLITE_ERROR;
    while (rows && (r = sqlite3_step(rows)) == SQLITE_ROW)
        if (json_array_append_new(runs, row_of_session(rows)) < 0)
            return -EIO;
    if (r != SQLITE_DONE)
        return -EIO;
    if (!is_one_session(runs))
        return -ENOTUNIQ;
    *ret_runs = json_incref(runs);
    return 0;
}

/* A column as a JSON object, or NULL where it is none. */
static json_t *parse_column(sqlite3_stmt *row, int column) {
    json_t *json = NULL;
    const char *text = statement_text(row, column);
    if (text_parse_capped(text, (size_t)sqlite3_column_bytes(row, column), TEXT_DEPTH_LIMIT, MAX_VALUES, &json) < 0)
        return NULL;
    if (json_is_object(json))
        return json;
    json_decref(json);
    return NULL;
}

int records_find(struct records *records, const char *prefix, json_t **ret_run) {
    auto_statement rows = statement_make(
        records->db,
        "SELECT body, environments.json FROM runs LEFT JOIN environments ON environments.sha256 = runs.environment"
        " WHERE substr(run_id, 1, length(?1)) = ?1 LIMIT 2",
        "t", prefix);
    int r = rows ? sqlite3_step(rows) : SQLITE_ERROR;
    if (r != SQLITE_ROW)
        return r == SQLITE_DONE ? 0 : -EIO;
    json_auto_t *run = parse_column(rows, 0);
    bool whole = run != NULL;
    if (run && sqlite3_column_bytes(rows, 1) > 0)
        whole = json_object_set_new(run, "environment", parse_column(rows, 1)) == 0 && whole;
    r = sqlite3_step(rows);
    if (r != SQLITE_DONE)
        return r == SQLITE_ROW ? -ENOTUNIQ : -EIO;
    if (!whole)
        return -EBADMSG;
    *ret_run = json_incref(run);
    return 1;
}

json_t *records_find_cached(struct records *records, const char *cache_key, int64_t since_ms) {
    if (!records->db || !database_files_are_there(records->db, &records->files))
        return NULL;
    auto_statement row = statement_make(
        records->db, "SELECT body FROM runs WHERE cache_key = ?1 AND started_ms >= ?2 ORDER BY started_ms DESC LIMIT 1",
        "ti", cache_key, since_ms);
    return row && sqlite3_step(row) == SQLITE_ROW ? parse_column(row, 0) : NULL;
}

int records_find_input(struct records *records, const char *sha256, void **ret_data, size_t *ret_bytes) {
    auto_statement row = statement_make(records->db, "SELECT data FROM blobs WHERE sha256 = ?1", "t", sha256);
    int r = row ? sqlite3_step(row) : SQLITE_ERROR;
    if (r != SQLITE_ROW)
        return r == SQLITE_DONE ? 0 : -EIO;
    size_t bytes = (size_t)sqlite3_column_bytes(row, 0);
    void *data = malloc(bytes + 1);
    if (!data)
        return -ENOMEM;
    if (bytes > 0)
        memcpy(data, sqlite3_column_blob(row, 0), bytes);
    *ret_data = data;
    *ret_bytes = bytes;
    return 1;
}

void records_totals(struct records *records, const char *task, struct record_totals *ret_totals) {
    *ret_totals = (struct record_totals){0};
    if (!records->db)
        return;
    auto_statement row =
        statement_make(records->db, "SELECT runs, wall_ms, artifact_bytes FROM tasks WHERE task = ?1", "t", task);
    if (!row || sqlite3_step(row) != SQLITE_ROW)
        return;
    *ret_totals = (struct record_totals){.runs = sqlite3_column_int64(row, 0),
                                         .wall_ms = sqlite3_column_int64(row, 1),
                                         .artifact_bytes = sqlite3_column_int64(row, 2)};
}
