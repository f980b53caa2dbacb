/* What petri runs by itself, with a worker played by the test: only in an image that no user's code has run. */
#include "tests/kernel/cells.h"
#include "tests/kernel/fake_clock.h"
#include "tests/kernel/fake_load.h"

#include "kernel/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TWICE "create start freeze commit create start freeze commit create"

enum { IDLE_S = 1, ROUNDS = 20, STUCK_ROUNDS = 1000 };

static void enable_preload(struct kernel *kernel) {
    kernel->preload.over = false;
    fake_clock_stop();
}

static int start(void **state) {
    (void)state;
    harness_start_warm(&h, enable_preload);
    return 0;
}

/* The kernel has been idle for so long that it may begin. */
static void be_idle(void) {
    for (int i = 0; i < ROUNDS; i++) {
        take_a_turn();
        fake_clock_put_forward(IDLE_S * CLOCK_S);
    }
    take_a_turn();
}

static void run_cell(const char *status) {
    char id[37];
    begin_cell("1", id);
    harness_done(&h, status);
    expect_status(id, strcmp(status, "ok") == 0 ? "ok" : "error");
}

/* How often this happened to a cell. */
static int n_times(const char *event) {
    int n = 0;
    for (const char *at = fake_story(h.session); (at = strstr(at, event)); at++)
        n++;
    return n;
}

static int n_starts(void) {
    return n_times("start");
}

static void expect_portion(const char *portion) {
    int before = n_starts();
    for (int i = 0; i < STUCK_ROUNDS && n_starts() == before; i++) {
        take_a_turn();
        fake_clock_put_forward(100 * CLOCK_MS);
    }
    json_t *frame = harness_next_cell(&h);
    expect_text(frame, "type", "warm");
    expect_text(frame, "portion", portion);
    json_decref(frame);
}

/* It is committed before anything else comes, which would discard it. */
static void finish_portion(void) {
    int before = n_times("commit");
    harness_done(&h, "ok");
    for (int i = 0; i < STUCK_ROUNDS && n_times("commit") == before; i++)
        take_a_turn();
}

static void expect_preload(void) {
    expect_portion("errors");
}

/* Without an event that would wake the loop. */
static void test_next_cell_is_made_as_soon_as_a_portion_is_committed(void **state) {
    (void)state;
    expect_portion("errors");
    harness_done(&h, "ok");
    for (int i = 0; i < STUCK_ROUNDS && !strstr(fake_story(h.session), "commit create"); i++)
        usleep(10000);
    assert_string_equal(fake_story(h.session), "create start freeze commit create");
}

static void test_preload_is_committed_before_the_first_cell(void **state) {
    (void)state;
    expect_portion("errors");
    finish_portion();
    expect_portion("completions");
    finish_portion();
    for (int i = 0; i < STUCK_ROUNDS && !strstr(fake_story(h.session), TWICE); i++)
        take_a_turn();
    run_cell("ok");
    be_idle();
    assert_string_equal(fake_story(h.session), TWICE " start freeze commit create");
}

static void test_what_comes_between_the_portions_ends_the_preload(void **state) {
    (void)state;
    expect_portion("errors");
    finish_portion();
    run_cell("ok");
    be_idle();
    assert_string_equal(fake_story(h.session), TWICE);
}

static void test_busy_machine_is_left_alone(void **state) {
    (void)state;
    fake_load_is_high(true);
    be_idle();
    assert_int_equal(n_starts(), 0);
    fake_load_is_high(false);
    expect_preload();
}

static void test_no_preload_runs_once_a_cell_was_committed(void **state) {
    (void)state;
    run_cell("ok");
    be_idle();
    assert_string_equal(fake_story(h.session), "create start freeze commit create");
}

static void test_no_preload_runs_once_a_cell_with_an_error_was_committed(void **state) {
    (void)state;
    run_cell("ZeroDivisionError");
    be_idle();
    assert_string_equal(fake_story(h.session), "create start freeze commit create");
}

/* A message to a comm, whole. petri: of its metadata, stolen; NULL for none. */
static void run_comm(json_t *petri) {
    char id[37];
    harness_send_with(&h, CHANNEL_SHELL, "comm_open",
                      json_pack("{s:s, s:s, s:{}}", "comm_id", "a", "target_name", "t", "data"),
                      petri ? json_pack("{s:o}", "petri", petri) : json_object(), id);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_heard(id, "busy idle");
}

/* JupyterLab's widgets send one to every new kernel. */
static void test_preload_runs_after_a_comm_message_without_code(void **state) {
    (void)state;
    run_comm(NULL);
    expect_preload();
}

static void test_no_preload_runs_once_a_message_has_brought_files(void **state) {
    (void)state;
    run_comm(json_pack("{s:[{s:s, s:s}]}", "files", "path", "jedi.py", "text", "harm()"));
    be_idle();
    assert_string_equal(fake_story(h.session), "create put start freeze commit create");
}

static void test_preload_runs_after_cells_that_left_nothing(void **state) {
    struct harness_worker worker;
    char id[37];
    json_t *fresh = json_pack("{s:{s:b}}", "petri", "fresh", 1);
    (void)state;
    begin_cell("dies", id);
    fake_cell_dies(h.session, &(struct cell_end){.signaled = true, .signal = 9});
    expect_status(id, "error");
    fake_plan(h.session, &(struct fake_plan){0});
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "1"), fresh, id);
    json_decref(harness_next_beside(&h, &worker));
    harness_done(&h, "ok");
    expect_status(id, "ok");
    harness_leave(&worker);
    expect_preload();
}

static void test_no_preload_runs_beside_a_fresh_run(void **state) {
    struct harness_worker worker;
    char id[37];
    (void)state;
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", "1"),
                      json_pack("{s:{s:b}}", "petri", "fresh", 1), id);
    json_decref(harness_next_beside(&h, &worker));
    be_idle();
    assert_int_equal(n_starts(), 1);
    harness_leave(&worker);
}

static void test_preload_over_its_cpu_time_is_given_up(void **state) {
    (void)state;
    expect_preload();
    fake_plan(h.session, &(struct fake_plan){.processors = 1});
    fake_clock_put_forward(15 * CLOCK_S); /* of the 20 s that it may take */
    for (int i = 0; i < STUCK_ROUNDS && !strstr(fake_story(h.session), "discard"); i++)
        take_a_turn();
    assert_non_null(strstr(fake_story(h.session), "create start discard")); /* and tried again, after a while */
}

#define PRELOAD(test) cmocka_unit_test_setup_teardown(test, start, cells_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        PRELOAD(test_next_cell_is_made_as_soon_as_a_portion_is_committed),
        PRELOAD(test_preload_is_committed_before_the_first_cell),
        PRELOAD(test_what_comes_between_the_portions_ends_the_preload),
        PRELOAD(test_busy_machine_is_left_alone),
        PRELOAD(test_no_preload_runs_once_a_cell_was_committed),
        PRELOAD(test_no_preload_runs_once_a_cell_with_an_error_was_committed),
        PRELOAD(test_preload_runs_after_a_comm_message_without_code),
        PRELOAD(test_no_preload_runs_once_a_message_has_brought_files),
        PRELOAD(test_preload_runs_after_cells_that_left_nothing),
        PRELOAD(test_no_preload_runs_beside_a_fresh_run),
        PRELOAD(test_preload_over_its_cpu_time_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
