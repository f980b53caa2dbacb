/* Going back and forth between images, with a client and a worker played by the test. */
#include "tests/kernel/cells.h"
#include "tests/kernel/fake_clock.h"
#include "tests/kernel/frames.h"

#include "kernel/base/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A whole cell that ends well: the id of its run. */
static void run_cell(const char *code, char run_id[37]) {
    struct message reply;
    char id[37];
    begin_cell(code, id);
    harness_done(&h, "ok");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "status", "ok");
    const json_t *report = report_of(&reply);
    assert_true(json_is_true(json_object_get(report, "committed")));
    expect_text(report, "image", json_string_value(json_object_get(report, "run_id")));
    (void)strcpy(run_id, json_string_value(json_object_get(report, "run_id")));
    message_fini(&reply);
    free(harness_heard(&h, id));
}

/* A line of the kernel's own: what was published for it. The caller's. */
static char *travel(const char *line, const char *status, const char *image) {
    struct message reply;
    char id[37];
    harness_execute(&h, line, id);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "status", status);
    if (image)
        expect_text(report_of(&reply), "image", image);
    assert_true(json_is_false(json_object_get(report_of(&reply), "committed")));
    message_fini(&reply);
    return harness_heard(&h, id);
}

static void expect_travel(const char *line, const char *image, const char *said) {
    char *heard = travel(line, "ok", image);
    char expected[256];
    (void)snprintf(expected, sizeof expected, "busy execute_input stream:stdout:%s.\n idle", said);
    assert_string_equal(heard, expected);
    free(heard);
}

static void expect_refusal(const char *line, const char *ename, const char *why) {
    struct message reply;
    char id[37];
    harness_execute(&h, line, id);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "ename", ename);
    assert_non_null(strstr(json_string_value(json_object_get(reply.content, "evalue")), why));
    message_fini(&reply);
    free(harness_heard(&h, id));
}

/* The number that the next cell gets. */
static void expect_next_number(int number) {
    char id[37];
    harness_execute(&h, "next", id);
    json_t *request = harness_next_cell(&h);
    assert_int_equal(json_integer_value(json_object_get(request, "execution_count")), number);
    json_decref(request);
    harness_done(&h, "ok");
    expect_status(id, "ok");
    free(harness_heard(&h, id));
}

static void test_undo_goes_back_and_redo_on(void **state) {
    char one[37], two[37], three[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    run_cell("3", three);
    expect_travel("%undo", two, "Back before [3]: 1 cell (\"3\"), 1.0 MiB of memory");
    expect_travel("%undo 2", "first", "Back at the beginning: 2 cells (from \"1\" on), 2.0 MiB of memory");
    expect_travel("%redo 3", three, "On to [3]: 3 cells");
    expect_travel("%restore 2", two, "Back before [3]: 1 cell (\"3\"), 1.0 MiB of memory");
    expect_next_number(3);
    expect_refusal("%redo", "UnknownImage", "nothing to redo");
}

static void test_undo_at_the_beginning_is_refused(void **state) {
    (void)state;
    expect_refusal("%undo", "UnknownImage", "nothing to undo");
    expect_refusal("%undo x", "CellRefused", "%undo takes a number");
    expect_next_number(1);
}

static void test_checkpoint_is_found_and_forgotten(void **state) {
    char one[37], two[37];
    (void)state;
    run_cell("1", one);
    expect_travel("%checkpoint base", one, "base is the state after [1]");
    run_cell("2", two);
    expect_travel("%restore base", one, "Back before [2]: 1 cell (\"2\"), 1.0 MiB of memory");
    expect_travel("%restore 2", two, "On to [2]: 1 cell");
    expect_travel("%forget base", two, "base is no name any more; what it named goes when there is no room for it");
    expect_refusal("%restore base", "UnknownImage", "\"base\"");
    expect_refusal("%forget base", "UnknownImage", "\"base\"");
}

/* Its memory is no more: "nothing changes" would be said of what no cell can be made of. */
static void test_present_state_that_is_lost_is_no_place_to_go(void **state) {
    char one[37], two[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    expect_travel("%restore 2", two, "Nothing changes: this is the state after [2]");
    fake_plan(h.session, &(struct fake_plan){.lost = -ESRCH, .detail = "killed"});
    expect_refusal("%restore 2", "SandboxError", "killed");
    expect_travel("%undo", one, "Back before [2]: 1 cell (\"2\"), 1.0 MiB of memory");
}

static const int reasons[] = {-EINVAL, -EIO, -EFAULT, -EAGAIN, -ENOMEM, -EPERM, -EUCLEAN, -ENOSPC, -ETIMEDOUT};
enum { N_REASONS = sizeof reasons / sizeof reasons[0] };
#define UNMADE "There is no sandbox for the cell, so it was not run: making it failed (why). Mend it"

/* A cell that ends well, behind which no other can be made as planned. */
static void run_last_cell(const char *code, const struct fake_plan *plan) {
    struct message reply;
    char id[37];
    begin_cell(code, id);
    fake_plan(h.session, plan);
    harness_done(&h, "ok");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "status", "ok");
    message_fini(&reply);
    free(harness_heard(&h, id));
}

/* A cell that isn't run: what is said of it. */
static void expect_unmade(const char *session) {
    char id[37], evalue[512];
    harness_execute(&h, "lacks a cell", id);
    (void)snprintf(evalue, sizeof evalue, "%s; the session is %s.", UNMADE, session);
    expect_failure(id, "busy execute_input error:SandboxError idle", "SandboxError", evalue);
}

static void test_session_goes_back_before_a_cell_behind_which_none_can_be_made(void **state) {
    char one[37];
    (void)state;
    run_last_cell("1", &(struct fake_plan){.unmade = -EINVAL, .detail = "why"});
    expect_unmade("back at the beginning: 1 cell (\"1\"), 1.0 MiB of memory");
    run_cell("1", one);
    for (int i = 0; i < N_REASONS; i++) {
        run_last_cell("2", &(struct fake_plan){.unmade = reasons[i], .detail = "why"});
        expect_unmade("back before [2]: 1 cell (\"2\"), 1.0 MiB of memory");
        expect_next_number(2);
        expect_travel("%undo", one, "Back before [2]: 1 cell (\"next\"), 1.0 MiB of memory");
    }
}

/* The state is kept, for what Linux lacked it may have later. */
static void test_state_of_which_no_cell_could_be_made_can_be_gone_to(void **state) {
    char one[37];
    (void)state;
    run_cell("1", one);
    run_last_cell("2", &(struct fake_plan){.unmade = -EINVAL, .detail = "why"});
    expect_unmade("back before [2]: 1 cell (\"2\"), 1.0 MiB of memory");
    free(travel("%redo", "ok", NULL));
    expect_next_number(4);
}

static void test_session_stays_where_no_cell_can_be_made_of_earlier_states_either(void **state) {
    char one[37];
    (void)state;
    run_cell("1", one);
    for (int i = 0; i < N_REASONS; i++) {
        run_last_cell("2", &(struct fake_plan){.create = reasons[i], .detail = "why"});
        expect_unmade("as it was before the cell");
        fake_plan(h.session, &(struct fake_plan){0});
        expect_next_number(4 + i * 3); /* one that was refused has its number */
    }
}

/* Once when it is made ahead, and once when it is asked for. */
static void test_cell_that_can_be_made_at_the_second_try_runs(void **state) {
    char one[37];
    (void)state;
    for (int i = 0; i < N_REASONS; i++) {
        run_last_cell("1", &(struct fake_plan){.unmade = reasons[i], .unmade_n = 1, .detail = "why"});
        run_cell("2", one);
    }
}

static void expect_report(const char *outcome, const char *parent, bool committed) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *report = report_of(&reply);
    expect_text(report, "outcome", outcome);
    expect_text(report, "parent", parent);
    assert_int_equal(json_is_true(json_object_get(report, "committed")), committed);
    message_fini(&reply);
}

/* The worker of a throw-away cell says which names there are. */
static void answer_names(const char *name, const char *size) {
    frames_say(fake_next_ephemeral(h.session), json_pack("{s:s, s:{s:s, s:[[s, s, s]]}}", "type", "done", "reply",
                                                         "status", "ok", "names", name, "int", size));
}

static void expect_difference(const char *id, const char *text) {
    struct message shown;
    while (harness_receive(&h, CHANNEL_IOPUB, &shown), strcmp(shown.msg_type, "display_data") != 0)
        message_fini(&shown);
    expect_text(shown.parent, "msg_id", id);
    expect_text(json_object_get(shown.content, "data"), "text/plain", text);
    message_fini(&shown);
}

/* The session stays where it is. */
static void test_diff_asks_each_state_for_its_names(void **state) {
    char one[37], two[37], id[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    harness_execute(&h, "%diff 1 2", id);
    answer_names("x", "1");
    answer_names("x", "2");
    expect_report("ok", one, false);
    expect_difference(id, "From [1] to [2]\nNames:\n~ x  int, 1  int, 2\nFiles:\n+ a.txt    3 bytes\n");
    expect_travel("%undo", one, "Back before [2]: 1 cell (\"2\"), 1.0 MiB of memory");
    assert_string_equal(fake_ephemeral_story(h.session), "create start discard create start discard");
}

static void test_diff_of_a_state_that_does_not_answer_has_files(void **state) {
    char one[37], id[37];
    (void)state;
    run_cell("1", one);
    harness_execute(&h, "%diff first", id);
    answer_names("x", "1");
    frames_say(fake_next_ephemeral(h.session), json_pack("{s:s, s:{s:s}}", "type", "done", "reply", "status", "error"));
    expect_report("ok", "first", false);
    expect_difference(id, "From first to the present state\nNames: the Python of one state does not answer\n"
                          "Files:\n+ a.txt    3 bytes\n");
    expect_refusal("%diff nowhere", "UnknownImage", "\"nowhere\"");
}

static void test_line_beside_code_is_code(void **state) {
    char id[37];
    (void)state;
    begin_cell("x = 1\n%undo", id);
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

/* A request with metadata.petri. */
static void begin_with(const char *code, json_t *petri, char id[37]) {
    harness_send_with(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s}", "code", code),
                      json_pack("{s:o}", "petri", petri), id);
}

static void test_from_begins_a_branch(void **state) {
    char one[37], two[37], id[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    begin_with("3", json_pack("{s:s, s:s}", "from", one, "checkpoint", "branch"), id);
    json_t *request = harness_next_cell(&h);
    assert_int_equal(json_integer_value(json_object_get(request, "execution_count")), 2);
    json_decref(request);
    harness_done(&h, "ok");
    expect_report("ok", one, true);
    free(harness_heard(&h, id));
    expect_next_number(3);
    expect_travel("%restore branch", NULL, "Back before [3]: 1 cell (\"next\"), 1.0 MiB of memory");
}

static void test_run_without_commit_leaves_the_session_as_it_was(void **state) {
    char one[37], two[37], id[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    begin_with("4", json_pack("{s:b}", "commit", 0), id);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_report("ok", two, false);
    free(harness_heard(&h, id));
    expect_next_number(3);
}

static void expect_reply_refused(const char *why) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "ename", "CellRefused");
    assert_non_null(strstr(json_string_value(json_object_get(reply.content, "evalue")), why));
    assert_null(json_object_get(report_of(&reply), "checkpoint"));
    message_fini(&reply);
}

/* The id of the state that a text means, by a restoration there; "" where none does. The session is there then. */
static void find_state(const char *text, char id[37]) {
    struct message reply;
    char line[128], request[37];
    (void)snprintf(line, sizeof line, "%%restore %s", text);
    harness_execute(&h, line, request);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const char *image = json_string_value(json_object_get(report_of(&reply), "image"));
    (void)strcpy(id, image ? image : "");
    message_fini(&reply);
    free(harness_heard(&h, request));
}

/* It would say what it has done, and it would not hold. */
static void test_line_of_a_run_that_is_not_committed_is_refused(void **state) {
    static const char *const lines[] = {"%undo", "%redo", "%restore 1", "%checkpoint mine", "%forget theirs"};
    char one[37], two[37], id[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    expect_travel("%checkpoint theirs", two, "theirs is the state after [2]");
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        begin_with(lines[i], json_pack("{s:b}", "commit", 0), id);
        expect_reply_refused("needs a run that is committed");
        free(harness_heard(&h, id));
    }
    begin_with("%timeline", json_pack("{s:b}", "commit", 0), id);
    expect_report("ok", one, false);
    free(harness_heard(&h, id));
    expect_refusal("%restore mine", "UnknownImage", "\"mine\"");
    expect_travel("%restore theirs", two, "Nothing changes: this is the state after [2]");
    expect_next_number(3);
}

static void test_line_whose_request_names_what_it_leaves_is_refused(void **state) {
    static const char *const lines[] = {"%undo", "%timeline", "%diff first", "%undo?"};
    char one[37], id[37];
    (void)state;
    run_cell("1", one);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        begin_with(lines[i], json_pack("{s:s}", "checkpoint", "mine"), id);
        expect_reply_refused("a line such as %undo leaves nothing");
        free(harness_heard(&h, id));
    }
    expect_refusal("%restore mine", "UnknownImage", "\"mine\"");
    expect_next_number(2);
}

static void test_question_about_a_line_is_no_step(void **state) {
    char one[37], id[37];
    (void)state;
    run_cell("1", one);
    harness_execute(&h, "%undo?", id);
    json_t *request = harness_next_cell(&h);
    assert_true(json_is_false(json_object_get(request, "store_history")));
    json_decref(request);
    harness_done(&h, "ok");
    expect_report("ok", one, false);
    free(harness_heard(&h, id));
    expect_travel("%restore 1", one, "Nothing changes: this is the state after [1]");
    expect_next_number(2);
}

static void test_name_that_another_state_has_is_said_to_move(void **state) {
    char one[37], two[37];
    (void)state;
    expect_travel("%checkpoint a", "first", "a is the present state");
    run_cell("1", one);
    expect_travel("%checkpoint a", one, "a is the state after [1], and no longer another one");
    expect_travel("%checkpoint a", one, "a is the state after [1]");
    run_cell("2", two);
    expect_travel("%checkpoint a", two, "a is the state after [2], and no longer the one after [1]");
}

/* Its state is kept, and the one that has the name keeps it. */
static void test_run_that_raises_gives_no_name(void **state) {
    struct message reply;
    char one[37], id[37], named[37];
    (void)state;
    run_cell("1", one);
    expect_travel("%checkpoint good", one, "good is the state after [1]");
    begin_with("1/0", json_pack("{s:s}", "checkpoint", "good"), id);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "error");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(report_of(&reply), "outcome", "error");
    assert_true(json_is_true(json_object_get(report_of(&reply), "committed")));
    assert_null(json_object_get(report_of(&reply), "checkpoint"));
    message_fini(&reply);
    free(harness_heard(&h, id));
    find_state("good", named);
    assert_string_equal(named, one);
}

/* A branch: it has the number of a cell of its image, and takes none of the session's. */
static void test_branch_runs_beside_the_session_s_own_run(void **state) {
    struct harness_worker branch = {0};
    char one[37], two[37], own[37], id[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    begin_cell("own", own);
    begin_with("3", json_pack("{s:s, s:b}", "from", one, "commit", 0), id);
    json_t *request = harness_next_beside(&h, &branch);
    assert_int_equal(json_integer_value(json_object_get(request, "execution_count")), 2);
    json_decref(request);
    harness_play(&h, &branch);
    harness_done(&h, "ok");
    expect_report("ok", one, false);
    harness_play(&h, NULL);
    harness_done(&h, "ok");
    expect_report("ok", two, true);
    free(harness_heard(&h, own));
    expect_next_number(4);
    harness_leave(&branch);
}

/* Kept, it is a state like others, and the session stays where it is until it goes there. */
static void test_branch_that_is_kept_is_in_the_tree(void **state) {
    struct harness_worker branch = {0};
    struct message reply;
    char one[37], two[37], id[37], kept[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    begin_with("3", json_pack("{s:s, s:s, s:s}", "from", one, "commit", "branch", "checkpoint", "aside"), id);
    json_decref(harness_next_beside(&h, &branch));
    harness_play(&h, &branch);
    harness_done(&h, "ok");
    harness_receive(&h, CHANNEL_SHELL, &reply);
    const json_t *report = report_of(&reply);
    expect_text(report, "parent", one);
    expect_text(report, "checkpoint", "aside");
    assert_true(json_is_false(json_object_get(report, "committed")));
    (void)strcpy(kept, json_string_value(json_object_get(report, "image")));
    expect_text(report, "run_id", kept);
    message_fini(&reply);
    harness_play(&h, NULL);
    free(harness_heard(&h, id));
    expect_next_number(3);
    expect_travel("%restore aside", kept, "At [2], on another branch: 2 cells undone, 1 cell again");
    expect_next_number(3);
    harness_leave(&branch);
}

/* It is sent while the run goes on that gives its image the name. */
static void test_branch_of_what_is_not_there_yet_waits_for_the_runs_before_it(void **state) {
    struct harness_worker branch = {0};
    char own[37], id[37];
    (void)state;
    begin_with("1", json_pack("{s:s}", "checkpoint", "later"), own);
    json_decref(harness_next_cell(&h));
    begin_with("2", json_pack("{s:s, s:b}", "from", "later", "commit", 0), id);
    harness_done(&h, "ok");
    expect_report("ok", "first", true);
    json_decref(harness_next_beside(&h, &branch));
    harness_play(&h, &branch);
    harness_done(&h, "ok");
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(report_of(&reply), "outcome", "ok");
    message_fini(&reply);
    begin_with("3", json_pack("{s:s, s:b}", "from", "never", "commit", 0), id);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "ename", "UnknownImage");
    message_fini(&reply);
    harness_leave(&branch);
}

static void test_run_from_an_image_that_fails_goes_back(void **state) {
    static const struct cell_end killed = {.signaled = true, .signal = 9};
    char one[37], two[37], id[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    begin_with("3", json_pack("{s:s}", "from", "first"), id);
    json_decref(harness_next_cell(&h));
    fake_cell_dies(h.session, &killed);
    expect_report("crash", "first", false);
    free(harness_heard(&h, id));
    expect_travel("%undo", one, "Back before [2]: 1 cell (\"2\"), 1.0 MiB of memory");
}

static void test_from_an_unknown_image_is_refused(void **state) {
    struct message reply;
    char id[37];
    (void)state;
    begin_with("1", json_pack("{s:s}", "from", "nowhere"), id);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "ename", "UnknownImage");
    message_fini(&reply);
    free(harness_heard(&h, id));
    begin_with("1", json_pack("{s:b, s:s}", "fresh", 1, "from", "first"), id);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.content, "ename", "CellRefused");
    message_fini(&reply);
}

static void test_silent_request_belongs_to_the_step_before_it(void **state) {
    char one[37], id[37];
    (void)state;
    run_cell("1", one);
    harness_send(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s, s:b}", "code", "look()", "silent", 1), id);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(report_of(&reply), "image", one);
    message_fini(&reply);
    free(harness_heard(&h, id));
    expect_travel("%undo", "first", "Back at the beginning: 1 cell (\"1\"), 1.0 MiB of memory");
}

static void few_states(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_HISTORY] = 2;
}

static int start_few(void **state) {
    (void)state;
    harness_start_warm(&h, few_states);
    return 0;
}

static void test_what_makes_room_says_that_it_is_gone(void **state) {
    char one[37], two[37], three[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    run_cell("3", three);
    expect_refusal("%restore 1", "UnknownImage", "the state after [1] is gone");
    expect_refusal("%restore first", "UnknownImage", "gone");
    expect_travel("%restore 2", two, "Back before [3]: 1 cell (\"3\"), 1.0 MiB of memory");
}

/* The limit of how many are kept is none of a state's own: those that are kept would go with the next cell. */
static void test_what_bounds_all_states_stays_when_one_goes_back(void **state) {
    char one[37], two[37], three[37], branch[37];
    (void)state;
    run_cell("1", one);
    run_cell("%limits history=5", two);
    run_cell("3", three);
    expect_travel("%restore 1", one, "Back before [2]: 2 cells (from \"%limits history=5\" on), 2.0 MiB of memory");
    run_cell("4", branch);
    expect_travel("%restore 3", three, "At [3], on another branch: 1 cell undone, 2 cells again");
    expect_travel("%restore first", "first", "Back at the beginning: 3 cells (from \"1\" on), 3.0 MiB of memory");
}

/* As little as what states may hold where the machine is short of memory, so that it does not matter whether it is. */
enum { HELD_BYTES = 64 << 20, HELD_MS = 100 };

static void little_memory(struct kernel *kernel) {
    kernel->runner.limits.values[LIMIT_HISTORY_MEMORY] = HELD_BYTES;
}

static int start_little(void **state) {
    (void)state;
    harness_start_warm(&h, little_memory);
    fake_clock_stop();
    return 0;
}

/* Not at the first look, which may count what is about to be free. */
static void test_states_that_hold_too_much_go_after_a_while(void **state) {
    char one[37], two[37], three[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.kept_bytes = HELD_BYTES / 2});
    run_cell("1", one);
    run_cell("2", two);
    run_cell("3", three);
    take_a_turn();
    assert_null(strstr(fake_story(h.session), "measure"));
    put_forward(HELD_MS * CLOCK_MS);
    take_a_turn();
    assert_non_null(strstr(fake_story(h.session), "measure"));
    expect_refusal("%restore first", "UnknownImage", "gone");
    expect_travel("%restore 1", one, "Back before [2]: 2 cells (from \"2\" on), 2.0 MiB of memory");
}

static void test_states_that_are_found_to_hold_little_stay(void **state) {
    char one[37], two[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.kept_bound = HELD_BYTES + 1});
    run_cell("1", one);
    run_cell("2", two);
    put_forward(HELD_MS * CLOCK_MS);
    take_a_turn();
    assert_non_null(strstr(fake_story(h.session), "measure"));
    expect_travel("%restore first", "first", "Back at the beginning: 2 cells (from \"1\" on), 2.0 MiB of memory");
}

static void test_states_that_hold_little_at_most_are_not_measured(void **state) {
    char one[37], two[37];
    (void)state;
    fake_plan(h.session, &(struct fake_plan){.kept_bound = HELD_BYTES});
    run_cell("1", one);
    put_forward(HELD_MS * CLOCK_MS);
    run_cell("2", two);
    put_forward(HELD_MS * CLOCK_MS);
    take_a_turn();
    assert_null(strstr(fake_story(h.session), "measure"));
    expect_travel("%restore first", "first", "Back at the beginning: 2 cells (from \"1\" on), 2.0 MiB of memory");
}

static void test_states_go_where_descriptors_are_few(void **state) {
    char one[37], two[37], three[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    fake_plan(h.session, &(struct fake_plan){.lacks_descriptors = 2});
    run_cell("3", three);
    expect_refusal("%restore 1", "UnknownImage", ", and 1024 open files of the kernel, which are few)");
    expect_travel("%restore 2", two, "Back before [3]: 1 cell (\"3\"), 1.0 MiB of memory");
    expect_refusal("%restore first", "UnknownImage", "gone");
}

/* A request on control: its reply's content, the caller's. */
static json_t *ask(const char *msg_type, const char *reply_type, json_t *content) {
    char id[37];
    harness_send(&h, CHANNEL_CONTROL, msg_type, content, id);
    json_t *reply = harness_reply(&h, CHANNEL_CONTROL, reply_type, id);
    free(harness_heard(&h, id));
    return reply;
}

/* Wherever one goes from there: to an earlier state, or to another branch. */
static void test_redo_goes_on_to_what_was_left_by_going_to_a_state(void **state) {
    char one[37], two[37], three[37], id[37], silent[37];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    run_cell("3", three);
    expect_travel("%restore 1", one, "Back before [2]: 2 cells (from \"2\" on), 2.0 MiB of memory");
    expect_travel("%redo", two, "On to [2]: 1 cell");
    expect_travel("%redo", three, "On to [3]: 1 cell");
    begin_with("aside", json_pack("{s:s, s:s}", "from", one, "checkpoint", "aside"), id);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_report("ok", one, true);
    free(harness_heard(&h, id));
    expect_travel("%restore 3", three, "At [3], on another branch: 1 cell undone, 2 cells again");
    expect_travel("%restore aside", NULL, "At [2], on another branch: 2 cells undone, 1 cell again");
    find_state(two, id);
    assert_string_equal(id, two);
    expect_travel("%redo", three, "On to [3]: 1 cell");
    expect_travel("%undo", two, "Back before [3]: 1 cell (\"3\"), 1.0 MiB of memory");
    expect_travel("%checkpoint named", two, "named is the state after [2]");
    harness_send(&h, CHANNEL_SHELL, "execute_request", json_pack("{s:s, s:b}", "code", "look()", "silent", 1), silent);
    json_decref(harness_next_cell(&h));
    harness_done(&h, "ok");
    expect_report("ok", two, true);
    free(harness_heard(&h, silent));
    expect_travel("%redo", three, "On to [3]: 1 cell");
    expect_refusal("%redo", "UnknownImage", "%restore goes to any state of %timeline");
}

/* As a run's id begins: enough of it means its state, where no other one has it so. */
static void test_part_of_an_id_means_its_state(void **state) {
    char one[37], two[37], found[37], line[64];
    (void)state;
    run_cell("1", one);
    run_cell("2", two);
    (void)snprintf(line, sizeof line, "%.8s", one);
    find_state(line, found);
    assert_string_equal(found, one);
    (void)snprintf(line, sizeof line, "%%restore %.7s", two);
    expect_refusal(line, "UnknownImage", "no checkpoint, number of a cell or id of a run");
    json_t *reply = ask("petri_restore_request", "petri_restore_reply", json_pack("{s:s%}", "to", two, (size_t)13));
    expect_text(reply, "image", two);
    json_decref(reply);
    memcpy(h.kernel.runner.timeline.current->id, one, 13); /* as two ids may begin */
    (void)snprintf(line, sizeof line, "%%restore %.13s", one);
    expect_refusal(line, "UnknownImage", "the ids of 2 states begin with");
}

static void test_control_lists_names_restores_and_forgets(void **state) {
    char one[37], two[37];
    (void)state;
    run_cell("first line\nsecond", one);
    run_cell("2", two);
    json_t *reply = ask("petri_checkpoint_request", "petri_checkpoint_reply", json_pack("{s:s}", "name", "second"));
    expect_text(reply, "image", two);
    json_decref(reply);
    reply = ask("petri_restore_request", "petri_restore_reply", json_pack("{s:i}", "to", 1));
    expect_text(reply, "image", one);
    assert_int_equal(json_integer_value(json_object_get(reply, "execution_count")), 1);
    json_decref(reply);
    reply = ask("petri_timeline_request", "petri_timeline_reply", json_object());
    const json_t *images = json_object_get(reply, "images"), *node = json_array_get(images, 1);
    assert_int_equal(json_array_size(images), 3);
    expect_text(reply, "current", one);
    expect_text(node, "code_first_line", "first line");
    expect_text(node, "parent", "first");
    expect_text(json_array_get(images, 2), "parent", one);
    assert_int_equal(json_array_size(json_object_get(json_array_get(images, 2), "names")), 1);
    json_decref(reply);
    reply = ask("petri_restore_request", "petri_restore_reply", json_pack("{s:i}", "redo", 1));
    expect_text(reply, "image", two);
    json_decref(reply);
    reply = ask("petri_forget_request", "petri_forget_reply", json_pack("{s:s}", "name", "second"));
    expect_text(reply, "status", "ok");
    json_decref(reply);
}

static void test_control_with_wrong_arguments_is_an_error(void **state) {
    static const struct {
        const char *type, *reply;
        const char *content;
        const char *ename;
    } rows[] = {
        {"petri_restore_request", "petri_restore_reply", "{\"to\": \"nowhere\"}", "UnknownImage"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": 7}", "UnknownImage"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": 4294967297}", "UnknownImage"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": \"12345678\"}", "UnknownImage"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": [1]}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": null}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": 0}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": 1.5}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": \"\"}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": \"two words\"}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": \"first\\u0000\"}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"undo\": 1}", "UnknownImage"},
        {"petri_restore_request", "petri_restore_reply", "{\"undo\": -1}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"undo\": 1000001}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"undo\": null}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"redo\": \"x\"}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": \"first\", \"undo\": 1}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"undo\": 1, \"redo\": 1}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"To\": \"first\"}", "BadRequest"},
        {"petri_restore_request", "petri_restore_reply", "{\"to\": \"first\", \"more\": 1}", "BadRequest"},
        {"petri_timeline_request", "petri_timeline_reply", "{\"of\": \"first\"}", "BadRequest"},
        {"petri_forget_request", "petri_forget_reply", "{\"name\": 3}", "BadRequest"},
        {"petri_forget_request", "petri_forget_reply", "{\"name\": \"here\\u0000\"}", "BadRequest"},
        {"petri_forget_request", "petri_forget_reply", "{}", "BadRequest"},
        {"petri_checkpoint_request", "petri_checkpoint_reply", "{\"name\": \"a\", \"to\": \"first\"}", "BadRequest"},
        {"petri_checkpoint_request", "petri_checkpoint_reply", "{\"name\": \"abc\\u0000def\"}", "BadRequest"},
        {"petri_forget_request", "petri_forget_reply", "{\"name\": \"nowhere\"}", "UnknownImage"},
        {"petri_checkpoint_request", "petri_checkpoint_reply", "{\"name\": \"7\"}", "BadName"},
        {"petri_checkpoint_request", "petri_checkpoint_reply", "{\"name\": \"two words\"}", "BadName"},
        {"petri_checkpoint_request", "petri_checkpoint_reply", "{\"name\": \"\"}", "BadName"},
        {"petri_checkpoint_request", "petri_checkpoint_reply", "{}", "BadRequest"},
    };
    (void)state;
    expect_travel("%checkpoint here", "first", "here is the present state");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        json_t *reply = ask(rows[i].type, rows[i].reply, json_loads(rows[i].content, JSON_ALLOW_NUL, NULL));
        expect_text(reply, "status", "error");
        expect_text(reply, "ename", rows[i].ename);
        json_decref(reply);
    }
    expect_travel("%restore here", "first", "Nothing changes: this is the present state");
    expect_refusal("%restore abc", "UnknownImage", "\"abc\"");
}

/* It waits for no run that would change nothing of it. */
static void test_wrong_arguments_are_refused_while_a_cell_runs(void **state) {
    char id[37];
    (void)state;
    begin_cell("1", id);
    json_t *reply = ask("petri_restore_request", "petri_restore_reply", json_object());
    expect_text(reply, "ename", "BadRequest");
    json_decref(reply);
    harness_done(&h, "ok");
    expect_status(id, "ok");
}

/* Not even what stands before it. */
static void test_request_that_has_a_nul_in_a_name_is_refused(void **state) {
    static const char *const keys[] = {"from", "checkpoint"};
    char one[37], id[37];
    (void)state;
    run_cell("1", one);
    expect_travel("%checkpoint a", one, "a is the state after [1]");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        json_t *petri = json_object();
        json_object_set_new(petri, keys[i], json_stringn("a\0b", 3));
        begin_with("2", petri, id);
        expect_reply_refused("has to be");
        free(harness_heard(&h, id));
    }
    expect_travel("%restore a", one, "Nothing changes: this is the state after [1]");
}

/* The cell that runs is committed first: it is a branch then. */
static void test_restoration_waits_for_the_running_cell(void **state) {
    char one[37], id[37], restore_id[37];
    (void)state;
    run_cell("1", one);
    begin_cell("2", id);
    harness_send(&h, CHANNEL_CONTROL, "petri_restore_request", json_pack("{s:s}", "to", "first"), restore_id);
    json_t *reply = ask("petri_timeline_request", "petri_timeline_reply", json_object());
    expect_text(reply, "current", one);
    json_decref(reply);
    harness_done(&h, "ok");
    expect_status(id, "ok");
    reply = harness_reply(&h, CHANNEL_CONTROL, "petri_restore_reply", restore_id);
    expect_text(reply, "image", "first");
    json_decref(reply);
    free(harness_heard(&h, restore_id));
    expect_travel("%restore 2", NULL, "On to [2]: 2 cells");
}

static int start_cold(void **state) {
    (void)state;
    harness_start(&h, NULL);
    return 0;
}

static void test_control_waits_for_the_session_to_be_there(void **state) {
    char name_id[37], list_id[37];
    (void)state;
    harness_send(&h, CHANNEL_CONTROL, "petri_checkpoint_request", json_pack("{s:s}", "name", "start"), name_id);
    harness_send(&h, CHANNEL_CONTROL, "petri_timeline_request", json_object(), list_id);
    harness_hello(&h);
    harness_say(&h, json_pack("{s:s}", "type", "ready"));
    json_t *reply = harness_reply(&h, CHANNEL_CONTROL, "petri_checkpoint_reply", name_id);
    expect_text(reply, "image", "first");
    json_decref(reply);
    reply = harness_reply(&h, CHANNEL_CONTROL, "petri_timeline_reply", list_id);
    expect_text(reply, "current", "first");
    json_decref(reply);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        WARM(test_undo_goes_back_and_redo_on),
        WARM(test_undo_at_the_beginning_is_refused),
        WARM(test_redo_goes_on_to_what_was_left_by_going_to_a_state),
        WARM(test_part_of_an_id_means_its_state),
        WARM(test_checkpoint_is_found_and_forgotten),
        WARM(test_present_state_that_is_lost_is_no_place_to_go),
        WARM(test_session_goes_back_before_a_cell_behind_which_none_can_be_made),
        WARM(test_state_of_which_no_cell_could_be_made_can_be_gone_to),
        WARM(test_session_stays_where_no_cell_can_be_made_of_earlier_states_either),
        WARM(test_cell_that_can_be_made_at_the_second_try_runs),
        WARM(test_diff_asks_each_state_for_its_names),
        WARM(test_diff_of_a_state_that_does_not_answer_has_files),
        WARM(test_line_beside_code_is_code),
        WARM(test_from_begins_a_branch),
        WARM(test_run_without_commit_leaves_the_session_as_it_was),
        WARM(test_line_of_a_run_that_is_not_committed_is_refused),
        WARM(test_line_whose_request_names_what_it_leaves_is_refused),
        WARM(test_question_about_a_line_is_no_step),
        WARM(test_name_that_another_state_has_is_said_to_move),
        WARM(test_run_that_raises_gives_no_name),
        WARM(test_branch_runs_beside_the_session_s_own_run),
        WARM(test_branch_that_is_kept_is_in_the_tree),
        WARM(test_branch_of_what_is_not_there_yet_waits_for_the_runs_before_it),
        WARM(test_run_from_an_image_that_fails_goes_back),
        WARM(test_from_an_unknown_image_is_refused),
        WARM(test_silent_request_belongs_to_the_step_before_it),
        cmocka_unit_test_setup_teardown(test_what_makes_room_says_that_it_is_gone, start_few, cells_stop),
        cmocka_unit_test_setup_teardown(test_what_bounds_all_states_stays_when_one_goes_back, start_few, cells_stop),
        cmocka_unit_test_setup_teardown(test_states_that_hold_too_much_go_after_a_while, start_little, cells_stop),
        cmocka_unit_test_setup_teardown(test_states_that_are_found_to_hold_little_stay, start_little, cells_stop),
        cmocka_unit_test_setup_teardown(test_states_that_hold_little_at_most_are_not_measured, start_little,
                                        cells_stop),
        WARM(test_states_go_where_descriptors_are_few),
        WARM(test_control_lists_names_restores_and_forgets),
        WARM(test_control_with_wrong_arguments_is_an_error),
        WARM(test_wrong_arguments_are_refused_while_a_cell_runs),
        WARM(test_request_that_has_a_nul_in_a_name_is_refused),
        cmocka_unit_test_setup_teardown(test_control_waits_for_the_session_to_be_there, start_cold, cells_stop),
        WARM(test_restoration_waits_for_the_running_cell),
    };
    return cmocka_run_group_tests_name("travel", tests, NULL, NULL);
}
