/*
 * test_records_killed.c - kill -9 while runs are stored: each that was reported as stored is there, whole and once.
 *
 * PETRI_SEED repeats a sequence, PETRI_KILLS changes how many there are.
 */
#include "kernel/records/records.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

enum {
    KILLS = 300,
    LIVES = 10,        /* of a database: a small one is looked through quickly */
    OPENING_US = 4000, /* in which a life is killed that has told of nothing */
    STORING_US = 300,  /* and one that has, after its last run */
    RUNS_MAX = 100000,
    BODY_BYTES = 3000,
};

static struct log quiet = {.level = LOG_LEVEL_ERROR};
static char folder[64];
static char path[96];

static int64_t now_ms(void) {
    return (int64_t)time(NULL) * 1000;
}

/* Stores a run with an input and tells its number to who listens at fd, as a kernel sends its reply. */
static void store_one(struct records *records, unsigned number, int fd) {
    char run_id[16], digest[16], text[BODY_BYTES];
    snprintf(run_id, sizeof run_id, "run-%u", number);
    snprintf(digest, sizeof digest, "sha-%u", number);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    json_t *body = json_pack("{s:s, s:s}", "run_id", run_id, "code", text);
    const struct record_input input = {"in", digest, text, sizeof text};
    const struct record record = {.run_id = run_id,
                                  .session_id = "s",
                                  .task = "T",
                                  .outcome = "ok",
                                  .started = "now",
                                  .started_ms = now_ms(),
                                  .summary = text,
                                  .cache_key = "",
                                  .environment_sha256 = "",
                                  .body = body,
                                  .inputs = &input,
                                  .n_inputs = 1,
                                  .ran = true};
    if (records_store(records, &record) < 0 || write(fd, &number, sizeof number) != (ssize_t)sizeof number)
        _exit(1);
    json_decref(body);
    records_tidy(records);
}

static _Noreturn void store_until_killed(unsigned first, int fd) {
    const struct records_options options = {.path = path, .keep_days = 30, .max_bytes = INT64_C(1) << 40};
    struct records records;
    records_open(&records, &options, &quiet);
    if (!records.db)
        _exit(1);
    for (unsigned number = first;; number++)
        store_one(&records, number, fd);
}

/* Reads what was told; the greatest number and one, or first where nothing was. */
static unsigned told(int fd, unsigned first) {
    unsigned number;
    unsigned next = first;
    while (read(fd, &number, sizeof number) == (ssize_t)sizeof number)
        next = number + 1;
    return next;
}

/* How many runs a life tells of before it is killed: none in one of four, and in one of sixteen so many that the log
 * has been moved into the database meanwhile, or just then. */
static unsigned runs_of_a_life(void) {
    switch (random() % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
        return 0;
    case 4:
        return 100 + (unsigned)random() % 100;
    default:
        return 1 + (unsigned)random() % 16;
    }
}

/* One life of a process that stores; returns how many runs were told to be there since the beginning. It is killed at a
 * moment after it has told of n_runs. */
static unsigned live_once(unsigned first, unsigned n_runs, long delay_us) {
    int fds[2];
    int status;
    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        store_until_killed(first, fds[1]);
    }
    close(fds[1]);
    for (unsigned i = 0; i < n_runs; i++) {
        assert_int_equal(read(fds[0], &first, sizeof first), sizeof first);
        first++;
    }
    nanosleep(&(struct timespec){.tv_nsec = delay_us * 1000}, NULL); /* any moment: it is no wait for an event */
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    unsigned next = told(fds[0], first);
    close(fds[0]);
    return next;
}

/* All that were told are there, and at most the one beyond them that was not told any more; each is whole. */
static unsigned check(unsigned n_told) {
    struct records records;
    struct record_totals totals;
    struct error error;
    assert_int_equal(records_open_existing(&records, path, &quiet, &error), 0);
    json_t *list = records_list(&records, &(struct records_filter){.limit = RUNS_MAX});
    assert_non_null(list);
    unsigned n = (unsigned)json_array_size(list);
    assert_true(n == n_told || n == n_told + 1);
    records_totals(&records, "T", &totals);
    assert_int_equal(totals.runs, n);
    for (unsigned number = n < 3 ? 0 : n - 3; number < n; number++) {
        char run_id[16], digest[16];
        json_t *run = NULL;
        void *data = NULL;
        size_t bytes = 0;
        snprintf(run_id, sizeof run_id, "run-%u", number);
        snprintf(digest, sizeof digest, "sha-%u", number);
        assert_string_equal(json_string_value(json_object_get(json_array_get(list, n - 1 - number), "run_id")), run_id);
        assert_int_equal(records_find(&records, run_id, &run), 1);
        assert_int_equal(json_string_length(json_object_get(run, "code")), BODY_BYTES - 1);
        assert_int_equal(records_find_input(&records, digest, &data, &bytes), 1);
        assert_int_equal(bytes, BODY_BYTES);
        free(data);
        json_decref(run);
    }
    json_decref(list);
    records_close(&records);
    return n;
}

static void remove_database(void) {
    static const char *const ends[] = {"-wal", "-shm", "-journal", ""};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char file[128];
        snprintf(file, sizeof file, "%s%s", path, ends[i]);
        remove(file);
    }
}

static void test_records_of_a_process_killed_at_any_moment_are_whole(void **state) {
    const char *seed_text = getenv("PETRI_SEED");
    const char *kills_text = getenv("PETRI_KILLS");
    unsigned seed = seed_text ? (unsigned)strtoul(seed_text, NULL, 10) : (unsigned)time(NULL) ^ (unsigned)getpid();
    int kills = kills_text ? atoi(kills_text) : KILLS;
    unsigned n = 0;
    (void)state;
    print_message("PETRI_SEED=%u repeats this\n", seed);
    srandom(seed);
    for (int i = 0; i < kills; i++) {
        unsigned n_runs = runs_of_a_life();
        unsigned n_told = live_once(n, n_runs, random() % (n_runs ? STORING_US : OPENING_US));
        /* Killed before it had made the database, there is none. */
        n = access(path, F_OK) == 0 ? check(n_told) : 0;
        assert_true(n >= n_told);
        if (i % LIVES == LIVES - 1) {
            remove_database();
            n = 0;
        }
    }
}

/* Waits until the other end of a pipe has been closed by all. */
static bool wait_for_gate(int fd) {
    char byte;
    return read(fd, &byte, 1) == 0;
}

/* Opens the records at the first gate, says so, and stores a run at the second: one after the other, as who waits for
 * others that store gives up after a while. */
static _Noreturn void open_and_store(unsigned number, const int gates[2], int ready, int fd) {
    const struct records_options options = {.path = path, .keep_days = 30, .max_bytes = 1 << 30};
    struct records records;
    int turn = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!wait_for_gate(gates[0]))
        _exit(1);
    records_open(&records, &options, &quiet);
    if (!records.db || write(ready, "", 1) != 1)
        _exit(1);
    close(ready);
    if (!wait_for_gate(gates[1]) || flock(turn, LOCK_EX) < 0)
        _exit(1);
    store_one(&records, number, fd);
    records_close(&records);
    _exit(0);
}

/* As kernels that are started together on a new machine: each makes the database if it is not there yet. */
static void test_records_opened_by_many_processes_at_once_have_all_runs(void **state) {
    enum { MANY = 24 };
    int gates[2][2], ready[2], fds[2];
    char bytes[MANY];
    size_t n_ready = 0;
    int status;
    (void)state;
    assert_int_equal(pipe(gates[0]) | pipe(gates[1]) | pipe(ready) | pipe(fds), 0);
    for (unsigned i = 0; i < MANY; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            close(gates[0][1]);
            close(gates[1][1]);
            open_and_store(i, (const int[]){gates[0][0], gates[1][0]}, ready[1], fds[1]);
        }
    }
    close(ready[1]);
    close(gates[0][1]);
    for (ssize_t r; (r = read(ready[0], bytes, sizeof bytes)) > 0;)
        n_ready += (size_t)r;
    close(gates[1][1]);
    for (unsigned i = 0; i < MANY; i++) {
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(n_ready, MANY);
    close(gates[0][0]);
    close(gates[1][0]);
    close(ready[0]);
    close(fds[0]);
    close(fds[1]);
    struct records records;
    struct error error;
    assert_int_equal(records_open_existing(&records, path, &quiet, &error), 0);
    json_t *list = records_list(&records, &(struct records_filter){.limit = RUNS_MAX});
    assert_int_equal(json_array_size(list), MANY);
    json_decref(list);
    records_close(&records);
}

static int setup(void **state) {
    (void)state;
    /* What a killed process has written is there, whether or not it is on a disk: memory will do. */
    bool memory = access("/dev/shm", W_OK) == 0;
    snprintf(folder, sizeof folder, "%s/petri-test-XXXXXX", memory ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/records.sqlite", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    remove_database();
    return remove(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records_of_a_process_killed_at_any_moment_are_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_records_opened_by_many_processes_at_once_have_all_runs, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
