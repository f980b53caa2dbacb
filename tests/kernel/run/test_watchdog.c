/* What ends a cell from outside: the clock, with a look at where its code was, memory, CPU time, open files. */
#include "tests/kernel/cells.h"

#include "kernel/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void short_time(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_TIMEOUT] = 20;
}

static int start_short(void **state) {
    (void)state;
    harness_start_warm(&h, short_time);
    return 0;
}

/* For a test that writes the stack: it is whole at its last line, which nobody then waits for. */
static void long_for_the_stack(struct kernel *kernel) {
    short_time(kernel);
    kernel->runner.stack_us = 30 * CLOCK_S;
}

static int start_long_for_the_stack(void **state) {
    (void)state;
    harness_start_warm(&h, long_for_the_stack);
    return 0;
}

static void test_cell_over_time_is_ended(void **state) {
    char id[37];
    (void)state;
    begin_cell("hangs", id);
    expect_failure(id, "busy execute_input error:CellTimeout idle", "CellTimeout",
                   "The cell ran longer than its time limit of 20 ms and was ended" STAYS);
}

static void test_cell_over_time_has_its_stack_in_the_traceback(void **state) {
    static const char stack[] = "Current thread 0x7f (most recent call first):\n"
                                "  File \"/usr/lib/wait.py\", line 3 in wait\n"
                                "  File \"<ipython-input-1-0123456789ab>\", line 5 in <module>\n"
                                "  File \"/x/IPython/core/interactiveshell.py\", line 1 in run_code\n";
    struct message reply;
    char id[37];
    (void)state;
    begin_cell("hangs", id);
    assert_int_equal(fake_next_signal(h.session), SIGRTMAX - 1);
    write_all(fake_trace_fd(h.session), stack);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *lines = json_object_get(reply.content, "traceback");
    assert_int_equal(json_array_size(lines), 5);
    assert_string_equal(json_string_value(json_array_get(lines, 1)), "  File \"/usr/lib/wait.py\", line 3 in wait");
    assert_string_equal(json_string_value(json_array_get(lines, 2)), "  Cell In[1], line 5 in <module>");
    const json_t *error = json_object_get(report_of(&reply), "error");
    expect_text(error, "ename", "CellTimeout");
    assert_int_equal(json_integer_value(json_object_get(error, "line")), 5);
    message_fini(&reply);
}

/* Where the stack is to come from, more comes than can ever be read: who has the pipe can fill it again and again. */
static void test_cell_over_time_with_an_endless_stack_is_ended(void **state) {
    int endless = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    char id[37];
    (void)state;
    fake_trace_reads(h.session, endless);
    close(endless);
    begin_cell("hangs", id);
    expect_failure(id, "busy execute_input error:CellTimeout idle", "CellTimeout",
                   "The cell ran longer than its time limit of 20 ms and was ended" STAYS);
}

static void test_cell_over_memory_is_ended(void **state) {
    char id[37];
    (void)state;
    begin_cell("hoards", id);
    fake_plan(h.session, &(struct fake_plan){.usage = {.over_memory = true}});
    expect_failure(id, "busy execute_input error:CellMemoryLimit idle", "CellMemoryLimit",
                   "The cell held more memory than its limit of 2 GiB and was ended" STAYS);
    fake_plan(h.session, &(struct fake_plan){0});
    expect_next_cell_runs();
}

static void test_cell_killed_as_all_kernels_reached_their_bound_is_told_that(void **state) {
    char id[37];
    (void)state;
    begin_cell("holds some", id);
    h.kernel.config.kernels.memory_bytes = (int64_t)16 << 30;
    fake_cell_dies(
        h.session,
        &(struct cell_end){.signaled = true, .signal = SIGKILL, .usage = {.over_memory = true, .over_common = true}});
    expect_failure(id, "busy execute_input error:CellMemoryLimit idle", "CellMemoryLimit",
                   "All kernels of this user together held as much memory as they may (16 GiB), and Linux ended this "
                   "cell to free some" STAYS);
}

#define IN_FLIGHT                                                                                                      \
    "The cell's process left more open files waiting in sockets than all programs of a user may have there together"

static void test_cell_with_too_many_descriptors_in_flight_is_ended(void **state) {
    char id[37];
    (void)state;
    begin_cell("hoards", id);
    fake_plan(h.session, &(struct fake_plan){.usage = {.over_in_flight = true}});
    expect_failure(id, "busy execute_input error:CellCrashed idle", "CellCrashed", IN_FLIGHT STAYS);
    fake_plan(h.session, &(struct fake_plan){0});
    expect_next_cell_runs();
}

static void test_cell_freeze_that_finds_too_many_descriptors_in_flight_is_a_crash(void **state) {
    char id[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.end = {.usage = {.over_in_flight = true}}});
    begin_cell("hoards", id);
    harness_done(&h, "ok");
    expect_failure(id, "busy execute_input error:CellCrashed idle", "CellCrashed", IN_FLIGHT STAYS);
    fake_plan(h.session, &(struct fake_plan){0});
    expect_next_cell_runs();
}

static void test_cell_killed_for_memory_is_a_memory_limit_not_a_crash(void **state) {
    char id[37];
    (void)state;
    begin_cell("hoards", id);
    fake_cell_dies(h.session, &(struct cell_end){.signaled = true, .signal = SIGKILL, .usage = {.over_memory = true}});
    expect_failure(id, "busy execute_input error:CellMemoryLimit idle", "CellMemoryLimit",
                   "The cell held more memory than its limit of 2 GiB and was ended" STAYS);
}

static void test_cell_over_cpu_is_ended(void **state) {
    char id[37];
    (void)state;
    begin_cell("burns", id);
    fake_plan(h.session, &(struct fake_plan){.usage = {.cpu_us = 241 * CLOCK_S}});
    expect_failure(id, "busy execute_input error:CellCpuLimit idle", "CellCpuLimit",
                   "The cell used more CPU time than its limit of 240 s and was ended" STAYS);
}

#define NEARLY_OVER                                                                                                    \
    "stream:stderr:petri: this cell has used 80 % of its time limit of 120 s. In 24 s it is ended and undone; "        \
    "interrupt it before to keep what it has done. For more time begin the cell with %%limits timeout=4m, or more up " \
    "to 1h.\n "

static void test_cell_is_told_once_when_its_time_is_nearly_over(void **state) {
    char id[37];
    (void)state;
    begin_cell("slow", id);
    put_forward(90 * CLOCK_S);
    put_forward(10 * CLOCK_S);
    put_forward(10 * CLOCK_S);
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input " NEARLY_OVER "idle");
    expect_status(id, "ok");
}

static void test_cell_of_a_short_limit_is_told_nothing(void **state) {
    char id[37];
    (void)state;
    begin_cell("%%limits timeout=50s\nslow", id);
    put_forward(45 * CLOCK_S);
    harness_done(&h, "ok");
    expect_heard(id, "busy execute_input idle");
    expect_status(id, "ok");
}

static void test_silent_cell_is_told_nothing_of_its_time(void **state) {
    char id[37];
    (void)state;
    harness_send(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s, s:b}", "code", "slow", "silent", 1), id);
    json_decref(harness_next_cell(&h));
    put_forward(110 * CLOCK_S);
    harness_done(&h, "ok");
    expect_heard(id, "busy idle");
    expect_status(id, "ok");
}

#define SHORT(test) cmocka_unit_test_setup_teardown(test, start_short, cells_stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        SHORT(test_cell_over_time_is_ended),
        cmocka_unit_test_setup_teardown(test_cell_over_time_has_its_stack_in_the_traceback, start_long_for_the_stack,
                                        cells_stop),
        SHORT(test_cell_over_time_with_an_endless_stack_is_ended),
        WARM(test_cell_over_memory_is_ended),
        WARM(test_cell_killed_as_all_kernels_reached_their_bound_is_told_that),
        WARM(test_cell_with_too_many_descriptors_in_flight_is_ended),
        WARM(test_cell_freeze_that_finds_too_many_descriptors_in_flight_is_a_crash),
        WARM(test_cell_killed_for_memory_is_a_memory_limit_not_a_crash),
        WARM(test_cell_over_cpu_is_ended),
        STILL(test_cell_is_told_once_when_its_time_is_nearly_over),
        STILL(test_cell_of_a_short_limit_is_told_nothing),
        STILL(test_silent_cell_is_told_nothing_of_its_time),
    };
    return cmocka_run_group_tests_name("watchdog", tests, NULL, NULL);
}
