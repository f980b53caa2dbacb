#include "kernel/records/history.h"
#include "kernel/records/redact.h"
#include "kernel/records/statement.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct history history;
static struct log quiet;
static struct redaction redaction;
static char folder[64];
static char path[96];

static int setup(void **state) {
    (void)state;
    log_init(&quiet, "error");
    strcpy(folder, "/tmp/petri-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b/history.sqlite", folder);
    history_init(&history, path, &redaction, &quiet);
    return 0;
}

static void remove_in(const char *name) {
    char full[128];
    snprintf(full, sizeof full, "%s/%s", folder, name);
    remove(full);
}

static int teardown(void **state) {
    static const char *const names[] = {
        "a/b/history.sqlite-wal", "a/b/history.sqlite-shm", "a/b/history.sqlite", "a/b", "a", ""};
    (void)state;
    history_fini(&history);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        remove_in(names[i]);
    return 0;
}

static void store(int number, const char *text) {
    json_t *code = json_string(text);
    history_store(&history, number, code);
    json_decref(code);
}

/* As after a restart. */
static void next_session(void) {
    history_fini(&history);
    history_init(&history, path, &redaction, &quiet);
}

/* What a request finds, as JSON text. The caller's. */
static char *find(json_t *content) {
    const char *why = "";
    json_t *entries = history_find(&history, content, &why);
    char *text = entries ? json_dumps(entries, JSON_COMPACT) : strdup(why);
    assert_non_null(text);
    json_decref(entries);
    json_decref(content);
    return text;
}

static void expect_found(json_t *content, const char *expected) {
    char *text = find(content);
    assert_string_equal(text, expected);
    free(text);
}

/* Session 1: x=1, y, x=1; session 2, the present one: z, x=2. */
static void fill(void) {
    store(1, "x=1");
    store(2, "y");
    store(3, "x=1");
    next_session();
    store(1, "z");
    store(2, "x=2");
}

static void test_history_tail_has_the_last_cells_in_order(void **state) {
    (void)state;
    fill();
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "tail", "n", 3),
                 "[[1,3,\"x=1\"],[2,1,\"z\"],[2,2,\"x=2\"]]");
    expect_found(json_pack("{s:s, s:i, s:b}", "hist_access_type", "tail", "n", 1, "output", 1),
                 "[[2,2,[\"x=2\",null]]]");
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "tail", "n", 0), "[]");
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "tail", "n", -5), "[]");
}

static void test_history_range_has_cells_of_one_session(void **state) {
    (void)state;
    fill();
    expect_found(json_pack("{s:s, s:i, s:i, s:i}", "hist_access_type", "range", "session", 1, "start", 2, "stop", 3),
                 "[[1,2,\"y\"]]");
    expect_found(json_pack("{s:s, s:i, s:i}", "hist_access_type", "range", "session", -1, "start", 2),
                 "[[1,2,\"y\"],[1,3,\"x=1\"]]");
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "range", "session", 0), "[[0,1,\"z\"],[0,2,\"x=2\"]]");
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "range", "session", 7), "[]");
}

/* As after %restore 1, and with a branch beside. */
static void test_history_of_one_number_keeps_each_cell(void **state) {
    (void)state;
    store(1, "one");
    store(2, "two");
    store(3, "three");
    store(2, "another two");
    store(2, "two");
    store(3, "another three");
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "tail", "n", 4),
                 "[[1,3,\"three\"],[1,2,\"another two\"],[1,2,\"two\"],[1,3,\"another three\"]]");
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "range", "start", 2),
                 "[[0,2,\"two\"],[0,2,\"another two\"],[0,2,\"two\"],[0,3,\"three\"],[0,3,\"another three\"]]");
    expect_found(json_pack("{s:s, s:s, s:b}", "hist_access_type", "search", "pattern", "*t*", "unique", 1),
                 "[[1,3,\"three\"],[1,2,\"another two\"],[1,2,\"two\"],[1,3,\"another three\"]]");
}

/* Its cells had the session and the number as their key. */
static void test_history_of_an_earlier_petri_is_kept(void **state) {
    (void)state;
    fill();
    assert_int_equal(sqlite3_exec(history.db,
                                  "DROP TABLE cells;"
                                  "CREATE TABLE cells("
                                  "    session INTEGER NOT NULL, line INTEGER NOT NULL, source TEXT NOT NULL,"
                                  "    PRIMARY KEY(session, line)) WITHOUT ROWID;"
                                  "INSERT INTO cells VALUES(1, 1, 'x=1'), (1, 3, 'y'), (2, 1, 'z');"
                                  "UPDATE totals SET cells = 3, bytes = 5",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    next_session();
    history.cells_max = 4;
    store(1, "new");
    store(1, "newer");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"),
                 "[[1,3,\"y\"],[2,1,\"z\"],[3,1,\"new\"],[3,1,\"newer\"]]");
}

static void test_history_search_takes_patterns_and_finds_each_once(void **state) {
    (void)state;
    fill();
    expect_found(json_pack("{s:s, s:s}", "hist_access_type", "search", "pattern", "x*"),
                 "[[1,1,\"x=1\"],[1,3,\"x=1\"],[2,2,\"x=2\"]]");
    expect_found(json_pack("{s:s, s:s, s:b}", "hist_access_type", "search", "pattern", "x*", "unique", 1),
                 "[[1,3,\"x=1\"],[2,2,\"x=2\"]]");
    expect_found(json_pack("{s:s, s:s, s:i}", "hist_access_type", "search", "pattern", "*", "n", 1), "[[2,2,\"x=2\"]]");
    expect_found(json_pack("{s:s, s:s}", "hist_access_type", "search", "pattern", "X"), "[]");
}

static void test_history_before_the_first_cell_has_an_empty_session_0(void **state) {
    (void)state;
    fill();
    next_session();
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "range", "session", 0), "[]");
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "range", "session", -1), "[[2,1,\"z\"],[2,2,\"x=2\"]]");
}

static void test_history_keeps_any_text(void **state) {
    json_t *code = json_stringn("a\0'b\xe2\x82\xac", 7);
    (void)state;
    history_store(&history, 1, code);
    const char *why;
    json_t *request = json_pack("{s:s}", "hist_access_type", "tail");
    json_t *entries = history_find(&history, request, &why);
    assert_true(json_equal(json_array_get(json_array_get(entries, 0), 2), code));
    json_decref(entries);
    json_decref(request);
    json_decref(code);
}

static void test_history_redacts_secrets(void **state) {
    struct patterns *patterns = NULL;
    json_t *texts = json_pack("[s]", "CASE-[0-9]+");
    (void)state;
    assert_int_equal(patterns_create(texts, &patterns), 0);
    redaction.patterns = patterns;
    store(1, "password = 'hunter2'");
    store(2, "x = 'CASE-\xe2\x80\x8b"
             "12'");
    store(3, "AK\x1b[1m"
             "IAIOSFODNN7EXAMPLE");
    redaction.patterns = NULL;
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"),
                 "[[1,1,\"password = '[redacted: credential]'\"],[1,2,\"x = '[redacted: configured pattern]'\"],"
                 "[1,3,\"[redacted: AWS]\"]]");
    patterns_destroy(patterns);
    json_decref(texts);
}

static void test_history_over_its_number_of_cells_drops_the_oldest(void **state) {
    (void)state;
    history.cells_max = 4;
    fill();
    history.cells_max = 4;
    store(3, "three");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"),
                 "[[1,3,\"x=1\"],[2,1,\"z\"],[2,2,\"x=2\"],[2,3,\"three\"]]");
    store(4, "four");
    store(5, "five");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"),
                 "[[2,2,\"x=2\"],[2,3,\"three\"],[2,4,\"four\"],[2,5,\"five\"]]");
    next_session();
    expect_found(json_pack("{s:s, s:i}", "hist_access_type", "range", "session", -1),
                 "[[2,2,\"x=2\"],[2,3,\"three\"],[2,4,\"four\"],[2,5,\"five\"]]");
}

static void test_history_over_its_bytes_drops_the_oldest(void **state) {
    (void)state;
    history.bytes_max = 10;
    store(1, "12345");
    store(2, "abcde");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"), "[[1,1,\"12345\"],[1,2,\"abcde\"]]");
    store(3, "x");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"), "[[1,2,\"abcde\"],[1,3,\"x\"]]");
    store(4, "longer than all of it");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"), "[]");
    store(5, "y");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"), "[[1,5,\"y\"]]");
}

static void test_history_without_totals_is_counted_once(void **state) {
    (void)state;
    fill();
    assert_true(statement_run(history.db, "DROP TABLE totals", ""));
    next_session();
    history.cells_max = 5;
    store(1, "new");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"),
                 "[[1,2,\"y\"],[1,3,\"x=1\"],[2,1,\"z\"],[2,2,\"x=2\"],[3,1,\"new\"]]");
}

static void test_history_does_not_store_a_cell_over_its_size(void **state) {
    char *code = malloc(HISTORY_CELL_BYTES_MAX + 2);
    (void)state;
    memset(code, ' ', HISTORY_CELL_BYTES_MAX + 1);
    code[HISTORY_CELL_BYTES_MAX + 1] = '\0';
    store(1, code);
    store(2, "x");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"), "[[1,2,\"x\"]]");
    free(code);
}

static void test_history_of_an_unknown_access_type_gives_a_reason(void **state) {
    (void)state;
    expect_found(json_pack("{s:s}", "hist_access_type", "all"),
                 "hist_access_type has to be \"range\", \"tail\" or \"search\".");
    expect_found(json_object(), "hist_access_type has to be \"range\", \"tail\" or \"search\".");
}

static void test_history_that_is_off_writes_nothing(void **state) {
    struct stat st;
    (void)state;
    history_init(&history, "", &redaction, &quiet);
    store(1, "x");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"), "[]");
    assert_int_equal(stat(path, &st), -1);
}

static void test_history_that_cannot_be_opened_is_empty(void **state) {
    (void)state;
    history_init(&history, "/proc/nothing/history.sqlite", &redaction, &quiet);
    store(1, "x");
    expect_found(json_pack("{s:s}", "hist_access_type", "tail"), "[]");
}

static void test_history_folder_is_closed_to_other_users(void **state) {
    struct stat st;
    char parent[96];
    (void)state;
    store(1, "x");
    snprintf(parent, sizeof parent, "%s/a/b", folder);
    assert_int_equal(stat(parent, &st), 0);
    assert_int_equal(st.st_mode & 0077, 0);
}

/* As records_file_is_closed_to_other_users() for what SQLite makes beside it, while it is open. */
static void test_history_files_are_closed_to_other_users(void **state) {
    static const char *const endings[] = {"", "-wal", "-shm"};
    struct stat st;
    char full[128];
    (void)state;
    mode_t before = umask(0);
    store(1, "x");
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(full, sizeof full, "%s%s", path, endings[i]);
        assert_int_equal(stat(full, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    umask(before);
}

static void test_history_path_follows_xdg_data_home_and_home(void **state) {
    char found[PATH_MAX];
    (void)state;
    setenv("XDG_DATA_HOME", "/data", 1);
    assert_int_equal(history_default_path(found, sizeof found), 0);
    assert_string_equal(found, "/data/petri/history.sqlite");
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", "/home/ada", 1);
    assert_int_equal(history_default_path(found, sizeof found), 0);
    assert_string_equal(found, "/home/ada/.local/share/petri/history.sqlite");
    unsetenv("HOME");
    assert_int_equal(history_default_path(found, sizeof found), -ENOENT);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_history_tail_has_the_last_cells_in_order),
        TEST(test_history_range_has_cells_of_one_session),
        TEST(test_history_of_one_number_keeps_each_cell),
        TEST(test_history_of_an_earlier_petri_is_kept),
        TEST(test_history_search_takes_patterns_and_finds_each_once),
        TEST(test_history_before_the_first_cell_has_an_empty_session_0),
        TEST(test_history_keeps_any_text),
        TEST(test_history_redacts_secrets),
        TEST(test_history_over_its_number_of_cells_drops_the_oldest),
        TEST(test_history_over_its_bytes_drops_the_oldest),
        TEST(test_history_without_totals_is_counted_once),
        TEST(test_history_does_not_store_a_cell_over_its_size),
        TEST(test_history_of_an_unknown_access_type_gives_a_reason),
        TEST(test_history_that_is_off_writes_nothing),
        TEST(test_history_that_cannot_be_opened_is_empty),
        TEST(test_history_folder_is_closed_to_other_users),
        TEST(test_history_files_are_closed_to_other_users),
        TEST(test_history_path_follows_xdg_data_home_and_home),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
