#include "kernel/records/database.h"
#include "kernel/records/records.h"
#include "kernel/records/statement.h"
#include "tests/kernel/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { SOMEBODY = 12345 };

static struct log quiet;
static char path[PATH_MAX];
static struct error error;
static sqlite3 *db;

static int setup(void **state) {
    log_init(&quiet, "error");
    error.text[0] = '\0';
    int r = tree_make(state);
    tree_path(path, "a/x.sqlite");
    return r;
}

static int teardown(void **state) {
    database_close(db, NULL);
    db = NULL;
    return tree_remove(state);
}

static void expect_good(const char *sql) {
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void expect_bytes(const char *name, off_t bytes) {
    char file[PATH_MAX];
    struct stat st;
    assert_int_equal(stat(tree_path(file, name), &st), 0);
    assert_int_equal(st.st_size, bytes);
}

static void open_it(void) {
    assert_int_equal(database_open(path, true, &quiet, &db, &error), 0);
}

static void test_database_that_is_open_has_a_wal_file(void **state) {
    char log[PATH_MAX];
    (void)state;
    open_it();
    expect_good("PRAGMA journal_mode = WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1)");
    database_close(db, NULL);
    open_it();
    expect_good("SELECT x FROM t");
    assert_int_equal(access(tree_path(log, "a/x.sqlite-wal"), F_OK), 0);
}

/* Makes a database with this kind of journal, closes it, and opens it anew: SQLite looks for a log when it reads. */
static void reopen_with(const char *journal_mode) {
    char sql[100];
    snprintf(sql, sizeof sql, "PRAGMA journal_mode = %s; CREATE TABLE t(x)", journal_mode);
    open_it();
    expect_good(sql);
    database_close(db, NULL);
    open_it();
}

/* Later than anybody could look at what stands there. */
static void test_database_with_a_planted_log_does_not_write_to_it(void **state) {
    static const struct {
        const char *journal_mode, *name;
    } rows[] = {{"WAL", "a/x.sqlite-wal"}, {"WAL", "a/x.sqlite-shm"}, {"DELETE", "a/x.sqlite-journal"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char log[PATH_MAX], target[PATH_MAX];
        reopen_with(rows[i].journal_mode);
        tree_file("target", "kept");
        assert_int_equal(link(tree_path(target, "target"), tree_path(log, rows[i].name)), 0);
        assert_int_not_equal(sqlite3_exec(db, "INSERT INTO t VALUES(1)", NULL, NULL, NULL), SQLITE_OK);
        assert_non_null(strstr(database_refused(), "it has more than one name (hard links)"));
        expect_bytes("target", 4);
        database_close(db, NULL);
        db = NULL;
        assert_int_equal(unlink(log), 0);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_database_with_a_log_of_another_user_does_not_read_it(void **state) {
    char log[PATH_MAX];
    (void)state;
    if (geteuid() != 0)
        skip();
    reopen_with("WAL");
    tree_file("a/x.sqlite-wal", "poison");
    assert_int_equal(chown(tree_path(log, "a/x.sqlite-wal"), SOMEBODY, SOMEBODY), 0);
    assert_int_not_equal(sqlite3_exec(db, "SELECT x FROM t", NULL, NULL, NULL), SQLITE_OK);
    assert_non_null(strstr(database_refused(), "it belongs to another user (uid 12345)"));
    expect_bytes("a/x.sqlite-wal", 6);
}

/* SQLite looks whether its file is still there, but does so by the path, through links. */
static void test_database_in_a_replaced_folder_makes_its_log_in_the_opened_one(void **state) {
    char folder[PATH_MAX], moved[PATH_MAX], log[PATH_MAX];
    (void)state;
    reopen_with("WAL");
    assert_int_equal(rename(tree_path(folder, "a"), tree_path(moved, "moved")), 0);
    tree_folder("other");
    assert_int_equal(symlink("other", folder), 0);
    assert_int_equal(symlink("../moved/x.sqlite", path), 0);
    sqlite3_exec(db, "SELECT x FROM t; INSERT INTO t VALUES(1)", NULL, NULL, NULL);
    assert_int_equal(access(tree_path(log, "moved/x.sqlite-wal"), F_OK), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(tree_path(log, "other")), 0); /* it is empty */
}

static void test_database_is_opened_so_that_nothing_in_it_runs(void **state) {
    static const char poisoned[] = "CREATE TABLE t(x); CREATE TABLE told(x);"
                                   "CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO told VALUES(1); END;"
                                   "CREATE VIEW v AS SELECT x FROM t;";
    static const struct {
        const char *sql;
        int result;
    } rows[] = {
        {"INSERT INTO t VALUES(1)", SQLITE_OK},
        {"SELECT x FROM v", SQLITE_ERROR},
        {"SELECT 1 / (SELECT count(*) = 0 FROM told)", SQLITE_OK},
        {"ATTACH ':memory:' AS other", SQLITE_ERROR},
        {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = ''", SQLITE_ERROR},
        {"SELECT length(zeroblob(600000000))", SQLITE_TOOBIG},
        {"SELECT \"no column\"", SQLITE_ERROR},
    };
    (void)state;
    open_it();
    expect_good(poisoned);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(sqlite3_exec(db, rows[i].sql, NULL, NULL, NULL), rows[i].result);
    auto_statement told = statement_make(db, "SELECT count(*) FROM told", "");
    assert_int_equal(sqlite3_step(told), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(told, 0), 0);
}

/* What was done to records, by who had a hand in them. */
static const struct {
    const char *sql;
    const char *why;
} poisons[] = {
    {"CREATE TRIGGER r AFTER INSERT ON runs BEGIN DELETE FROM runs; END",
     "it has the trigger r, which petri did not make like that"},
    {"CREATE VIEW v AS SELECT 1", "it has the view v, which petri did not make like that"},
    {"DROP TABLE blobs; CREATE VIEW blobs AS SELECT sha256, zeroblob(1000000000) AS data FROM inputs",
     "it is without the index sqlite_autoindex_blobs_1"},
    {"CREATE INDEX i ON runs(abs(n))", "it has the index i, which petri did not make like that"},
    {"ALTER TABLE runs ADD COLUMN more TEXT DEFAULT 'x'", "it has the table runs, which petri did not make like that"},
    {"ALTER TABLE inputs ADD COLUMN more TEXT AS (upper(path))",
     "it has the table inputs, which petri did not make like that"},
    {"DROP TABLE tasks", "it is without the table tasks"},
    {"PRAGMA user_version = 3", "it was made by a later version of petri"},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE runs(' WHERE name = 'runs'",
     "malformed database schema (runs) - incomplete input"},
    {"PRAGMA writable_schema = ON; UPDATE sqlite_master SET rootpage = 1000000 WHERE name = 'runs'",
     "malformed database schema (runs) - invalid rootpage"},
};

static void test_records_with_a_foreign_schema_are_refused_with_a_reason(void **state) {
    const struct records_options options = {.path = path, .keep_days = 30, .max_bytes = 1 << 20};
    struct records records;
    (void)state;
    for (size_t i = 0; i < sizeof poisons / sizeof poisons[0]; i++) {
        char expected[PATH_MAX + 200];
        sqlite3 *poisoned;
        records_open(&records, &options, &quiet);
        assert_non_null(records.db);
        records_close(&records);
        assert_int_equal(sqlite3_open(path, &poisoned), SQLITE_OK);
        assert_int_equal(sqlite3_exec(poisoned, poisons[i].sql, NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_close(poisoned), SQLITE_OK);
        assert_true(records_open_existing(&records, path, &quiet, &error) < 0);
        snprintf(expected, sizeof expected, "the run records in %s can't be read: %s", path, poisons[i].why);
        assert_string_equal(error.text, expected);
        records_open(&records, &options, &quiet);
        assert_null(records.db);
        assert_int_equal(unlink(path), 0);
    }
}

static void test_records_that_are_no_objects_or_too_large_are_ebadmsg(void **state) {
    static const char *const bodies[] = {"'[]'", "'{'", "x'ff00ff'", "7", "'null'"};
    const struct records_options options = {.path = path, .keep_days = 30, .max_bytes = 1 << 20};
    struct records records;
    json_t *run = NULL;
    (void)state;
    records_open(&records, &options, &quiet);
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char sql[400];
        snprintf(sql, sizeof sql,
                 "INSERT INTO runs(run_id, session_id, outcome, started, started_ms, wall_ms, bytes, body)"
                 " VALUES('r%zu', x'ff', 'ok', '', 9e15, 'much', 1, %s)",
                 i, bodies[i]);
        assert_int_equal(sqlite3_exec(records.db, sql, NULL, NULL, NULL), SQLITE_OK);
        snprintf(sql, sizeof sql, "r%zu", i);
        assert_int_equal(records_find(&records, sql, &run), -EBADMSG);
    }
    json_t *list = records_list(&records, &(struct records_filter){.limit = 100});
    assert_int_equal(json_array_size(list), sizeof bodies / sizeof bodies[0]); /* none is left out */
    json_decref(list);
    records_close(&records);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_database_that_is_open_has_a_wal_file),
        TEST(test_database_with_a_planted_log_does_not_write_to_it),
        TEST(test_database_with_a_log_of_another_user_does_not_read_it),
        TEST(test_database_in_a_replaced_folder_makes_its_log_in_the_opened_one),
        TEST(test_database_is_opened_so_that_nothing_in_it_runs),
        TEST(test_records_with_a_foreign_schema_are_refused_with_a_reason),
        TEST(test_records_that_are_no_objects_or_too_large_are_ebadmsg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
