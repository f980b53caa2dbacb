#include "kernel/records/records.h"
#include "protocol/message.h"

#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <cmocka.h>

static struct records records;
static struct log quiet;
static char folder[64];
static char path[96];
static struct records_options options = {.path = path, .keep_days = 30, .max_bytes = 1 << 20};

static int setup(void **state) {
    (void)state;
    log_init(&quiet, "none");
    quiet.level = LOG_LEVEL_ERROR;
    strcpy(folder, "/tmp/petri-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/records.sqlite", folder);
    options = (struct records_options){.path = path, .keep_days = 30, .max_bytes = 1 << 20};
    records_open(&records, &options, &quiet);
    assert_non_null(records.db);
    return 0;
}

static int teardown(void **state) {
    static const char *const names[] = {"a/records.sqlite-wal", "a/records.sqlite-shm", "a/records.sqlite", "a", ""};
    (void)state;
    records_close(&records);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char full[128];
        snprintf(full, sizeof full, "%s/%s", folder, names[i]);
        remove(full);
    }
    return 0;
}

static int64_t now_ms(void) {
    return (int64_t)time(NULL) * 1000;
}

/* A run with this id; what it says beside it can be changed. */
static struct record a_record(const char *run_id) {
    return (struct record){.run_id = run_id,
                           .session_id = "s",
                           .task = "",
                           .outcome = "ok",
                           .started = "2026-01-01T00:00:00.000000Z",
                           .started_ms = now_ms(),
                           .wall_ms = 5,
                           .summary = "x = 1",
                           .cache_key = "",
                           .environment_sha256 = "",
                           .ran = true};
}

/* Steals body. */
static int store(struct record record, json_t *body) {
    record.body = body;
    int r = records_store(&records, &record);
    json_decref(body);
    return r;
}

/* The ids of the runs, the newest first, with spaces between. */
static const char *listed(const struct records_filter *filter) {
    static char text[4096];
    size_t i;
    json_t *run;
    json_t *list = records_list(&records, filter);
    assert_non_null(list);
    text[0] = '\0';
    json_array_foreach(list, i, run) {
        strcat(text, i ? " " : "");
        strcat(text, json_string_value(json_object_get(run, "run_id")));
    }
    json_decref(list);
    return text;
}

static void reopen(void) {
    records_close(&records);
    records_open(&records, &options, &quiet);
    assert_non_null(records.db);
}

static void test_records_runs_are_found_again_by_the_beginning_of_their_id(void **state) {
    json_t *run = NULL;
    json_t *environment = json_pack("{s:s}", "petri", "1");
    struct record record = a_record("abc-1");
    record.environment = environment;
    record.environment_sha256 = "e1";
    (void)state;
    assert_int_equal(store(record, json_pack("{s:s}", "code", "x = '\xe2\x82\xac'")), 0);
    assert_int_equal(store(a_record("abd-2"), json_pack("{s:i}", "n", 2)), 0);
    reopen();
    assert_int_equal(records_find(&records, "abc", &run), 1);
    assert_string_equal(json_string_value(json_object_get(run, "code")), "x = '\xe2\x82\xac'");
    assert_true(json_equal(json_object_get(run, "environment"), environment));
    json_decref(run);
    assert_int_equal(records_find(&records, "abd-2", &run), 1);
    assert_null(json_object_get(run, "environment"));
    json_decref(run);
    assert_int_equal(records_find(&records, "ab", &run), -ENOTUNIQ);
    assert_int_equal(records_find(&records, "ab_", &run), 0);
    assert_int_equal(records_find(&records, "x", &run), 0);
    json_decref(environment);
}

/* What a cell shows, or a request asks for, is as deep as their wires allow, and the record deeper by its own levels.
 */
static void test_records_nested_as_deeply_as_messages_can_be_read(void **state) {
    json_t *run = NULL, *deep = json_array();
    (void)state;
    for (size_t i = 0; i < message_default_caps.max_depth; i++)
        deep = json_pack("[o]", deep);
    assert_int_equal(store(a_record("deep"), json_pack("{s:[{s:o}]}", "outputs", "data", deep)), 0);
    assert_int_equal(records_find(&records, "deep", &run), 1);
    json_decref(run);
}

static void test_records_with_an_id_already_in_use_store_nothing(void **state) {
    const struct record_input input = {"in.csv", "sha-1", "a,b", 3};
    struct record record = a_record("one");
    struct record_totals totals;
    record.task = "t";
    (void)state;
    assert_int_equal(store(record, json_object()), 0);
    record.inputs = &input;
    record.n_inputs = 1;
    void *data;
    size_t bytes;
    assert_int_equal(store(record, json_object()), -EIO);
    assert_int_equal(records_find_input(&records, "sha-1", &data, &bytes), 0);
    records_totals(&records, "t", &totals);
    assert_int_equal(totals.runs, 1);
    assert_int_equal(store(a_record("two"), json_object()), 0); /* and nothing is left open */
}

/* One run of a session with its place in the tree; parent is NULL where the record has none of it. */
static void store_step(const char *run_id, const char *session_id, const char *parent) {
    struct record record = a_record(run_id);
    record.session_id = session_id;
    json_t *report =
        parent ? json_pack("{s:s, s:s, s:b}", "image", run_id, "parent", parent, "committed", true) : json_pack("{}");
    assert_int_equal(store(record, json_pack("{s:o, s:i}", "report", report, "execution_count", 7)), 0);
}

static void test_records_of_a_session_come_in_their_order_with_their_places_in_the_tree(void **state) {
    json_t *runs = NULL;
    (void)state;
    store_step("a", "one-1", "first");
    store_step("b", "other", "first");
    store_step("c", "one-1", "a");
    store_step("d", "one-1", NULL);
    assert_int_equal(records_of_session(&records, "one", 100, &runs), 0);
    assert_int_equal(json_array_size(runs), 3);
    json_t *second = json_array_get(runs, 1), *third = json_array_get(runs, 2);
    assert_string_equal(json_string_value(json_object_get(second, "run_id")), "c");
    assert_string_equal(json_string_value(json_object_get(second, "image")), "c");
    assert_string_equal(json_string_value(json_object_get(second, "parent")), "a");
    assert_true(json_is_true(json_object_get(second, "committed")));
    assert_int_equal(json_integer_value(json_object_get(second, "execution_count")), 7);
    assert_true(json_is_null(json_object_get(third, "parent")));
    json_decref(runs);
    assert_int_equal(records_of_session(&records, "one-1", 1, &runs), 0);
    assert_string_equal(json_string_value(json_object_get(json_array_get(runs, 0), "run_id")), "d");
    json_decref(runs);
    assert_int_equal(records_of_session(&records, "no such", 100, &runs), 0);
    assert_int_equal(json_array_size(runs), 0);
    json_decref(runs);
    assert_int_equal(records_of_session(&records, "o", 100, &runs), -ENOTUNIQ);
}

static void test_records_of_a_session_with_a_body_that_is_no_json_are_still_read(void **state) {
    json_t *runs = NULL;
    (void)state;
    store_step("a", "s", "first");
    assert_int_equal(sqlite3_exec(records.db, "UPDATE runs SET body = '{\"report\": '", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(records_of_session(&records, "s", 100, &runs), 0);
    assert_true(json_is_null(json_object_get(json_array_get(runs, 0), "image")));
    json_decref(runs);
}

static void test_records_lists_are_filtered(void **state) {
    static const struct {
        const char *id, *task, *outcome, *session;
    } rows[] = {{"1", "t", "ok", "s"}, {"2", "t", "error", "s"}, {"3", "u", "ok", "s"}, {"4", "", "ok", "z"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct record record = a_record(rows[i].id);
        record.task = rows[i].task;
        record.outcome = rows[i].outcome;
        record.session_id = rows[i].session;
        assert_int_equal(store(record, json_object()), 0);
    }
    assert_string_equal(listed(&(struct records_filter){.limit = 100}), "4 3 2 1");
    assert_string_equal(listed(&(struct records_filter){.limit = 2}), "4 3");
    assert_string_equal(listed(&(struct records_filter){.task = "t", .limit = 9}), "2 1");
    assert_string_equal(listed(&(struct records_filter){.outcome = "error", .limit = 9}), "2");
    assert_string_equal(listed(&(struct records_filter){.session_id = "z", .limit = 9}), "4");
}

static void test_records_inputs_are_stored_once_by_content(void **state) {
    const struct record_input inputs[] = {{"a.csv", "sha-1", "1,2", 3},
                                          {"b.csv", "sha-1", "1,2", 3},
                                          {"empty", "sha-2", "", 0},
                                          {"secret", "sha-3", NULL, 9}};
    struct record record = a_record("run");
    void *data;
    size_t bytes;
    record.inputs = inputs;
    record.n_inputs = 4;
    (void)state;
    assert_int_equal(store(record, json_object()), 0);
    assert_int_equal(records_find_input(&records, "sha-1", &data, &bytes), 1);
    assert_int_equal(bytes, 3);
    assert_memory_equal(data, "1,2", 3);
    free(data);
    assert_int_equal(records_find_input(&records, "sha-2", &data, &bytes), 1);
    assert_int_equal(bytes, 0);
    free(data);
    assert_int_equal(records_find_input(&records, "sha-3", &data, &bytes), 0);
}

static void test_records_tasks_are_counted_across_kernels(void **state) {
    struct record record = a_record("1");
    struct record_totals totals;
    record.task = "t";
    record.wall_ms = 40;
    record.artifact_bytes = 7;
    (void)state;
    assert_int_equal(store(record, json_object()), 0);
    reopen();
    record.run_id = "2";
    assert_int_equal(store(record, json_object()), 0);
    record.run_id = "3";
    record.ran = false; /* refused: it is listed, and does not count */
    assert_int_equal(store(record, json_object()), 0);
    records_totals(&records, "t", &totals);
    assert_int_equal(totals.runs, 2);
    assert_int_equal(totals.wall_ms, 80);
    assert_int_equal(totals.artifact_bytes, 14);
    records_totals(&records, "u", &totals);
    assert_int_equal(totals.runs, 0);
}

/* A body of so many bytes. The caller's. */
static json_t *large_body(size_t bytes) {
    char *text = malloc(bytes);
    assert_non_null(text);
    memset(text, 'x', bytes);
    json_t *body = json_pack("{s:s#}", "code", text, (int)bytes);
    free(text);
    return body;
}

static void test_records_too_old_are_deleted_with_their_inputs(void **state) {
    const struct record_input input = {"f", "sha-old", "x", 1};
    struct record old = a_record("old");
    void *data;
    size_t bytes;
    (void)state;
    old.started_ms = now_ms() - INT64_C(40) * 86400 * 1000;
    old.inputs = &input;
    old.n_inputs = 1;
    assert_int_equal(store(old, json_object()), 0);
    assert_int_equal(store(a_record("1"), json_object()), 0);
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "1 old");
    reopen(); /* a kernel tidies when it starts */
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "1");
    assert_int_equal(records_find_input(&records, "sha-old", &data, &bytes), 0);
}

/* Not only when it is tidied, and whatever it is that takes the room. */
static void test_records_are_never_over_their_size(void **state) {
    static char content[300000];
    struct record_input input = {"f", "sha-1", content, sizeof content};
    struct stat st;
    void *data;
    size_t bytes;
    (void)state;
    for (int i = 1; i <= 8; i++) {
        char id[8], digest[8];
        snprintf(id, sizeof id, "%d", i);
        snprintf(digest, sizeof digest, "sha-%d", i);
        struct record record = a_record(id);
        input.sha256 = digest;
        record.inputs = &input;
        record.n_inputs = i <= 4;
        assert_int_equal(store(record, large_body(i <= 4 ? 100 : 300000)), 0);
        assert_int_equal(sqlite3_wal_checkpoint_v2(records.db, NULL, SQLITE_CHECKPOINT_FULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(stat(path, &st), 0);
        /* A transaction holds the new run for a moment beside what it takes the place of. */
        assert_true(st.st_size <= options.max_bytes + 400000);
    }
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "8 7 6");
    assert_int_equal(records_find_input(&records, "sha-4", &data, &bytes), 0);
}

static void test_record_over_the_size_of_all_is_not_stored_and_drops_no_other(void **state) {
    (void)state;
    assert_int_equal(store(a_record("1"), json_object()), 0);
    assert_int_equal(store(a_record("2"), large_body(1 << 20)), -EFBIG);
    assert_int_equal(store(a_record("3"), json_object()), 0);
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "3 1");
}

static void test_records_near_their_size_leave_room_for_the_next_run(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++) {
        char id[8];
        snprintf(id, sizeof id, "%d", i);
        assert_int_equal(store(a_record(id), large_body(310000)), 0);
    }
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "3 2 1");
    assert_true(records_are_untidy(&records));
    records_tidy(&records);
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "3 2");
    assert_false(records_are_untidy(&records));
}

/* A lock that is held while the records are opened costs the tidying nothing but time. */
static void test_records_locked_by_others_are_tidied_later(void **state) {
    struct record old = a_record("old");
    sqlite3 *other;
    (void)state;
    old.started_ms -= (options.keep_days + 2) * 86400 * 1000;
    assert_int_equal(store(old, json_object()), 0);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    reopen();
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "old");
    assert_true(records_are_untidy(&records));
    assert_int_equal(sqlite3_exec(other, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    records_tidy(&records);
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "");
}

static int store_at_once(const char *run_id, size_t bytes) {
    struct record record = a_record(run_id);
    char *text = calloc(1, bytes + 1);
    assert_non_null(text);
    memset(text, 'x', bytes);
    json_t *body = json_pack("{s:s}", "code", text);
    record.body = body;
    int r = records_store_at_once(&records, &record);
    json_decref(body);
    free(text);
    return r;
}

/* In each of these cases records_store() does what is refused here. */
static void test_records_stored_at_once_wait_for_nothing(void **state) {
    sqlite3 *other;
    (void)state;
    reopen();
    assert_int_equal(store_at_once("1", 1), -EAGAIN); /* the log begins anew */
    assert_int_equal(store(a_record("1"), json_object()), 0);
    assert_int_equal(store_at_once("2", 1), 0);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(store_at_once("3", 1), -EAGAIN); /* another one writes */
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_int_equal(store_at_once("3", 1), 0);
    assert_int_equal(store_at_once("4", 1 << 20), -EAGAIN); /* older ones must go */
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "3 2 1");
    assert_int_equal(store_at_once("3", 1), -EIO); /* waiting would be in vain */
}

static void test_records_whose_files_are_removed_go_to_new_ones(void **state) {
    char log[128];
    (void)state;
    snprintf(log, sizeof log, "%s-wal", path);
    assert_int_equal(store(a_record("1"), json_object()), 0);
    assert_int_equal(remove(path) | remove(log), 0);
    assert_int_equal(store_at_once("2", 1), -EAGAIN);
    assert_int_equal(store(a_record("2"), json_object()), 0);
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "2");
    assert_int_equal(store_at_once("3", 1), 0);
    reopen();
    assert_string_equal(listed(&(struct records_filter){.limit = 9}), "3 2");
}

static void test_records_of_a_cached_result_are_found_by_key_and_age(void **state) {
    struct record record = a_record("1");
    int64_t now = now_ms();
    record.cache_key = "k";
    record.started_ms = now - 5000;
    (void)state;
    assert_int_equal(store(record, json_pack("{s:i}", "n", 1)), 0);
    assert_null(records_find_cached(&records, "k", now - 4000));
    assert_null(records_find_cached(&records, "other", 0));
    json_t *body = records_find_cached(&records, "k", now - 6000);
    assert_int_equal(json_integer_value(json_object_get(body, "n")), 1);
    json_decref(body);
}

static void write_over(const char *text) {
    records_close(&records);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 2000; i++)
        fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void test_records_that_are_damaged_store_nothing_and_say_so(void **state) {
    struct records again;
    struct error error;
    (void)state;
    write_over("this is no database\n");
    records_open(&records, &options, &quiet);
    assert_null(records.db);
    assert_int_equal(store(a_record("1"), json_object()), -ENOENT);
    assert_int_equal(records_open_existing(&again, path, &quiet, &error), -EIO);
    assert_non_null(strstr(error.text, "file is not a database"));
    assert_int_equal(records_open_existing(&again, "/nowhere/r.sqlite", &quiet, &error), -ENOENT);
    assert_string_equal(error.text, "there are no run records in /nowhere/r.sqlite");
}

static void test_records_file_is_closed_to_other_users(void **state) {
    struct stat st;
    (void)state;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
}

static void test_records_without_a_path_are_off(void **state) {
    struct record_totals totals;
    struct records none;
    (void)state;
    records_open(&none, &(struct records_options){.path = ""}, &quiet);
    assert_null(none.db);
    records_totals(&none, "t", &totals);
    assert_int_equal(totals.runs, 0);
    assert_null(records_find_cached(&none, "k", 0));
    records_tidy(&none);
    records_close(&none);
}

static void test_records_remember_digests_of_files(void **state) {
    char hex[DIGEST_HEX], found[DIGEST_HEX], file[32];
    (void)state;
    digest_bytes("x", 1, hex);
    assert_false(records_find_digest(&records, "file", found));
    records_store_digest(&records, "file", hex);
    reopen();
    assert_true(records_find_digest(&records, "file", found));
    assert_string_equal(found, hex);
    static const char *const wrong[] = {"'", "e3b0",
                                        "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        records_store_digest(&records, "file", wrong[i]);
        assert_false(records_find_digest(&records, "file", found));
    }
    int n_found = 0;
    for (int i = 0; i < 250; i++) {
        snprintf(file, sizeof file, "file %d", i);
        records_store_digest(&records, file, hex);
    }
    for (int i = 0; i < 250; i++) {
        snprintf(file, sizeof file, "file %d", i);
        n_found += records_find_digest(&records, file, found);
    }
    assert_true(n_found > 0 && n_found <= 100);
    assert_true(records_find_digest(&records, file, found)); /* the newest */
}

/* As petri 0.1.0 made them: without digests of files. */
static void test_records_of_an_earlier_version_get_what_they_lack(void **state) {
    char hex[DIGEST_HEX], found[DIGEST_HEX];
    (void)state;
    digest_bytes("x", 1, hex);
    assert_int_equal(store(a_record("aa"), json_pack("{s:s}", "run_id", "aa")), 0);
    assert_int_equal(sqlite3_exec(records.db, "DROP TABLE digests; PRAGMA user_version = 1", NULL, NULL, NULL),
                     SQLITE_OK);
    reopen();
    assert_string_equal(listed(&(struct records_filter){.limit = 10}), "aa");
    records_store_digest(&records, "file", hex);
    assert_true(records_find_digest(&records, "file", found));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_records_runs_are_found_again_by_the_beginning_of_their_id),
        TEST(test_records_nested_as_deeply_as_messages_can_be_read),
        TEST(test_records_with_an_id_already_in_use_store_nothing),
        TEST(test_records_of_a_session_come_in_their_order_with_their_places_in_the_tree),
        TEST(test_records_of_a_session_with_a_body_that_is_no_json_are_still_read),
        TEST(test_records_lists_are_filtered),
        TEST(test_records_inputs_are_stored_once_by_content),
        TEST(test_records_tasks_are_counted_across_kernels),
        TEST(test_records_too_old_are_deleted_with_their_inputs),
        TEST(test_records_are_never_over_their_size),
        TEST(test_record_over_the_size_of_all_is_not_stored_and_drops_no_other),
        TEST(test_records_near_their_size_leave_room_for_the_next_run),
        TEST(test_records_locked_by_others_are_tidied_later),
        TEST(test_records_stored_at_once_wait_for_nothing),
        TEST(test_records_whose_files_are_removed_go_to_new_ones),
        TEST(test_records_of_a_cached_result_are_found_by_key_and_age),
        TEST(test_records_that_are_damaged_store_nothing_and_say_so),
        TEST(test_records_file_is_closed_to_other_users),
        TEST(test_records_without_a_path_are_off),
        TEST(test_records_remember_digests_of_files),
        TEST(test_records_of_an_earlier_version_get_what_they_lack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
