/* The cell that is made for the next completion while the kernel is idle. */
#include "tests/kernel/cells.h"
#include "tests/kernel/fake_clock.h"
#include "tests/kernel/frames.h"

#include "kernel/base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { IDLE_MS = 200, TYPING_MS = 30, KEEP_S = 300 };

static void complete(void) {
    char id[37];
    harness_send(&h, CHANNEL_SHELL, "complete_request", json_pack("{s:s, s:i}", "code", "abc", "cursor_pos", 2), id);
    frames_say(fake_next_ephemeral(h.session), json_pack("{s:s, s:{s:s}}", "type", "done", "reply", "status", "ok"));
    json_decref(harness_reply(&h, CHANNEL_SHELL, "complete_reply", id));
}

static void be_idle(void) {
    take_a_turn();
    put_forward(IDLE_MS * CLOCK_MS);
    take_a_turn();
}

static void run_cell(const char *status) {
    char id[37];
    begin_cell("1", id);
    harness_done(&h, status);
    expect_status(id, strcmp(status, "ok") == 0 ? "ok" : "error");
    take_a_turn();
}

static void expect_story(const char *expected) {
    assert_string_equal(fake_ephemeral_story(h.session), expected);
}

static void test_no_cell_is_made_before_a_completion_was_asked_for(void **state) {
    (void)state;
    be_idle();
    run_cell("ok");
    be_idle();
    expect_story("");
}

static void test_cell_made_while_idle_is_given_to_the_next_completion(void **state) {
    (void)state;
    complete();
    take_a_turn();
    expect_story("create start discard"); /* at first nothing is made: a run may come */
    be_idle();
    be_idle();
    expect_story("create start discard create");
    complete();
    take_a_turn();
    expect_story("create start discard create start discard");
}

static void test_cell_made_ahead_is_discarded_once_a_run_is_over(void **state) {
    const char *const status[] = {"ok", "ZeroDivisionError"};
    (void)state;
    complete();
    be_idle();
    run_cell(status[0]);
    expect_story("create start discard create discard");
    be_idle();
    run_cell(status[1]);
    expect_story("create start discard create discard create discard");
}

static void test_cell_made_ahead_serves_beside_a_run(void **state) {
    char id[37];
    (void)state;
    complete();
    be_idle();
    begin_cell("1", id);
    complete();
    take_a_turn();
    expect_story("create start discard create start discard");
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

static void test_who_types_waits_for_less(void **state) {
    (void)state;
    complete();
    take_a_turn();
    put_forward(TYPING_MS * CLOCK_MS);
    take_a_turn();
    expect_story("create start discard create");
    run_cell("ok");
    put_forward(TYPING_MS * CLOCK_MS);
    take_a_turn();
    expect_story("create start discard create discard"); /* who runs cells may run the next one */
}

static void test_cells_made_ahead_in_vain_are_made_no_more(void **state) {
    (void)state;
    complete();
    for (int i = 0; i < 3; i++) {
        be_idle();
        run_cell("ok");
    }
    be_idle();
    expect_story("create start discard create discard create discard create discard");
    complete();
    be_idle();
    expect_story("create start discard create discard create discard create discard create start discard create");
}

static void test_cell_made_ahead_is_not_kept_for_ever(void **state) {
    (void)state;
    complete();
    be_idle();
    put_forward(KEEP_S * CLOCK_S);
    be_idle();
    expect_story("create start discard create discard");
}

static void test_cell_that_can_not_be_made_ahead_is_asked_for_again(void **state) {
    (void)state;
    complete();
    take_a_turn();
    fake_plan(h.session, &(struct fake_plan){.create_ephemeral = -ENOMEM, .detail = "no"});
    be_idle();
    fake_plan(h.session, &(struct fake_plan){0});
    be_idle();
    expect_story("create start discard");
    complete();
    be_idle();
    expect_story("create start discard create start discard create");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        STILL(test_no_cell_is_made_before_a_completion_was_asked_for),
        STILL(test_cell_made_while_idle_is_given_to_the_next_completion),
        STILL(test_cell_made_ahead_is_discarded_once_a_run_is_over),
        STILL(test_cell_made_ahead_serves_beside_a_run),
        STILL(test_who_types_waits_for_less),
        STILL(test_cells_made_ahead_in_vain_are_made_no_more),
        STILL(test_cell_made_ahead_is_not_kept_for_ever),
        STILL(test_cell_that_can_not_be_made_ahead_is_asked_for_again),
    };
    return cmocka_run_group_tests_name("spare", tests, NULL, NULL);
}
