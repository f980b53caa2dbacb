/* A session that has grown is put into huge pages while the kernel is idle. */
#include "tests/kernel/cells.h"
#include "tests/kernel/fake_clock.h"
#include "tests/kernel/fake_load.h"
#include "tests/kernel/frames.h"

#include "kernel/base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { IDLE_MS = 500, AGAIN_MS = 1000, MIB = 1 << 20 };

static void wait_for_look(void) {
    take_a_turn();
    put_forward(IDLE_MS * CLOCK_MS);
    take_a_turn();
    take_a_turn();
}

static void run_cell(uint64_t grown_bytes) {
    char id[37];
    begin_cell("1", id);
    fake_plan(h.session, &(struct fake_plan){.grown_bytes = grown_bytes, .compact = 1});
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

/* Of the story of all cells, what there is behind the last "commit". */
static void expect_after_last_cell(const char *expected) {
    const char *story = fake_story(h.session), *last = story;
    for (const char *at = story; (at = strstr(at, "commit")); at++)
        last = at;
    assert_string_equal(last, expected);
}

static void test_session_that_has_grown_is_compacted_while_idle(void **state) {
    (void)state;
    run_cell(8 * MIB);
    take_a_turn();
    expect_after_last_cell("commit create");
    wait_for_look();
    expect_after_last_cell("commit create discard compact create");
    wait_for_look();
    expect_after_last_cell("commit create discard compact create"); /* once */
}

static void test_session_is_compacted_again_only_when_it_has_grown_again(void **state) {
    (void)state;
    run_cell(8 * MIB);
    wait_for_look();
    run_cell(16 * MIB - 1);
    wait_for_look();
    expect_after_last_cell("commit create");
    run_cell(16 * MIB);
    wait_for_look();
    expect_after_last_cell("commit create discard compact create");
    run_cell(MIB); /* what has shrunk may grow anew */
    wait_for_look();
    run_cell(9 * MIB);
    wait_for_look();
    expect_after_last_cell("commit create discard compact create");
}

static void test_what_was_not_done_in_time_is_done_at_the_next_look(void **state) {
    (void)state;
    run_cell(8 * MIB);
    fake_plan(h.session, &(struct fake_plan){.grown_bytes = 8 * MIB, .compact = 0});
    wait_for_look();
    fake_plan(h.session, &(struct fake_plan){.grown_bytes = 8 * MIB, .compact = 1});
    wait_for_look();
    wait_for_look();
    expect_after_last_cell("commit create discard compact create discard compact create");
}

static void test_busy_machine_is_left_alone(void **state) {
    (void)state;
    fake_load_is_high(true);
    run_cell(8 * MIB);
    wait_for_look();
    expect_after_last_cell("commit create");
    fake_load_is_high(false);
    put_forward(AGAIN_MS * CLOCK_MS);
    take_a_turn();
    expect_after_last_cell("commit create discard compact create");
}

static void test_cell_for_a_completion_is_made_anew(void **state) {
    char id[37];
    (void)state;
    run_cell(8 * MIB);
    harness_send(&h, CHANNEL_SHELL, "complete_request", json_pack("{s:s, s:i}", "code", "abc", "cursor_pos", 2), id);
    frames_say(fake_next_ephemeral(h.session), json_pack("{s:s, s:{s:s}}", "type", "done", "reply", "status", "ok"));
    json_decref(harness_reply(&h, CHANNEL_SHELL, "complete_reply", id));
    wait_for_look();
    wait_for_look();
    expect_after_last_cell("commit create discard compact create");
    assert_string_equal(fake_ephemeral_story(h.session), "create start discard create discard create");
}

static int stop(void **state) {
    fake_load_is_high(false);
    return cells_stop(state);
}

#define IDLE_KERNEL(test) cmocka_unit_test_setup_teardown(test, cells_start_still, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        IDLE_KERNEL(test_session_that_has_grown_is_compacted_while_idle),
        IDLE_KERNEL(test_session_is_compacted_again_only_when_it_has_grown_again),
        IDLE_KERNEL(test_what_was_not_done_in_time_is_done_at_the_next_look),
        IDLE_KERNEL(test_busy_machine_is_left_alone),
        IDLE_KERNEL(test_cell_for_a_completion_is_made_anew),
    };
    return cmocka_run_group_tests_name("compact", tests, NULL, NULL);
}
