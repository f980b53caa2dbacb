/* Which requests wait for the state that they begin in, with a client and the workers played by the test. */
#include "tests/kernel/beside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The reply to a request, which has ended well: what it began in, and its own id. */
static void expect_run(const char *id, char parent[37], char run_id[37]) {
    struct message reply;
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.parent, "msg_id", id);
    expect_text(report_of(&reply), "outcome", "ok");
    (void)strcpy(parent, json_string_value(json_object_get(report_of(&reply), "parent")));
    (void)strcpy(run_id, json_string_value(json_object_get(report_of(&reply), "run_id")));
    message_fini(&reply);
}

static void expect_run_from(const char *id, const char *expected) {
    char parent[37], run_id[37];
    expect_run(id, parent, run_id);
    assert_string_equal(parent, expected);
}

/* A whole cell of the session's own, which names what it leaves. */
static void name_cell(const char *name, char run_id[37]) {
    char id[37], parent[37];
    send_with("names", json_pack("{s:s}", "checkpoint", name), id);
    expect_own_begun();
    end(NULL, "ok");
    expect_run(id, parent, run_id);
}

static json_t *branch_of(const char *from) {
    return json_pack("{s:s, s:b}", "from", from, "commit", 0);
}

static json_t *kept_branch_of(const char *from, const char *name) {
    return json_pack("{s:s, s:s, s:s}", "from", from, "commit", "branch", "checkpoint", name);
}

static void test_branch_of_what_a_running_branch_is_to_leave_waits_for_it(void **state) {
    char first[37], second[37], parent[37], left[37];
    (void)state;
    send_with("1", kept_branch_of("first", "aside"), first);
    expect_begun(&fresh_a);
    send_with("2", branch_of("aside"), second);
    take_a_turn();
    assert_int_equal(count_told("beside:start"), 1);
    end(&fresh_a, "ok");
    expect_run(first, parent, left);
    expect_begun(&fresh_b);
    end(&fresh_b, "ok");
    expect_run_from(second, left);
}

static void test_own_run_from_what_a_running_branch_is_to_leave_waits_for_it(void **state) {
    char first[37], second[37], parent[37], left[37];
    (void)state;
    send_with("1", kept_branch_of("first", "aside"), first);
    expect_begun(&fresh_a);
    send_with("2", json_pack("{s:s}", "from", "aside"), second);
    take_a_turn();
    end(&fresh_a, "ok");
    expect_run(first, parent, left);
    expect_own_begun();
    end(NULL, "ok");
    expect_run_from(second, left);
}

static void test_name_that_a_running_cell_is_to_move_is_waited_for(void **state) {
    char before[37], own[37], branch[37], other[37], parent[37], left[37];
    (void)state;
    name_cell("moves", before);
    name_cell("stays", before);
    send_with("own", json_pack("{s:s}", "checkpoint", "moves"), own);
    expect_own_begun();
    send_with("1", branch_of("moves"), branch);
    send_with("2", branch_of("stays"), other);
    expect_begun(&fresh_a);
    end(&fresh_a, "ok");
    expect_run_from(other, before);
    assert_int_equal(count_told("beside:start"), 1);
    end(NULL, "ok");
    expect_run(own, parent, left);
    expect_begun(&fresh_b);
    end(&fresh_b, "ok");
    expect_run_from(branch, left);
}

/* [2] is a state that was undone, and is to be the running cell, which came before. */
static void test_number_that_a_running_cell_is_to_have_is_waited_for(void **state) {
    char one[37], two[37], line[37], own[37], branch[37], parent[37], left[37];
    (void)state;
    name_cell("one", one);
    name_cell("two", two);
    harness_execute(&h, "%undo", line);
    expect_run_from(line, "first");
    send_with("own", json_object(), own);
    expect_own_begun();
    send_with("1", branch_of("2"), branch);
    take_a_turn();
    assert_int_equal(count_told("beside:start"), 0);
    end(NULL, "ok");
    expect_run(own, parent, left);
    expect_begun(&fresh_a);
    end(&fresh_a, "ok");
    expect_run_from(branch, left);
}

static void test_name_that_a_waiting_line_is_to_move_is_waited_for(void **state) {
    char before[37], own[37], line[37], branch[37], parent[37], left[37];
    (void)state;
    name_cell("moves", before);
    send_with("own", json_object(), own);
    expect_own_begun();
    harness_execute(&h, "%checkpoint moves", line);
    send_with("1", branch_of("moves"), branch);
    take_a_turn();
    assert_int_equal(count_told("beside:start"), 0);
    end(NULL, "ok");
    expect_run(own, parent, left);
    expect_run_from(line, parent);
    expect_begun(&fresh_a);
    end(&fresh_a, "ok");
    expect_run_from(branch, left);
}

static void test_branch_that_waits_holds_up_no_other(void **state) {
    char own[37], waits[37], other[37];
    (void)state;
    send_with("own", json_pack("{s:s}", "checkpoint", "later"), own);
    expect_own_begun();
    send_with("1", branch_of("later"), waits);
    send_with("2", branch_of("first"), other);
    expect_begun(&fresh_a);
    end(&fresh_a, "ok");
    expect_run_from(other, "first");
    end(NULL, "ok");
    expect_run_from(own, "first");
    expect_begun(&fresh_b);
    end(&fresh_b, "ok");
    expect_outcome(waits, "ok");
}

/* Those before it leave nothing, so what it names will never be there. */
static void test_branch_of_nothing_is_refused_while_others_run(void **state) {
    char first[37], fresh[37], second[37];
    struct message reply;
    (void)state;
    send_with("1", branch_of("first"), first);
    expect_begun(&fresh_a);
    begin_fresh("2", &fresh_b, fresh);
    send_with("3", branch_of("never"), second);
    harness_receive(&h, CHANNEL_SHELL, &reply);
    expect_text(reply.parent, "msg_id", second);
    expect_text(reply.content, "ename", "UnknownImage");
    message_fini(&reply);
    end(&fresh_a, "ok");
    expect_outcome(first, "ok");
    end(&fresh_b, "ok");
    expect_outcome(fresh, "ok");
}

/* What comes later changes nothing for it. */
static void test_branch_does_not_wait_for_what_came_after_it(void **state) {
    char before[37], own[37], branch[37], later[37], parent[37], left[37];
    (void)state;
    name_cell("moves", before);
    send_with("own", json_object(), own);
    expect_own_begun();
    send_with("1", branch_of("moves"), branch);
    send_with("later", json_pack("{s:s}", "checkpoint", "moves"), later);
    expect_begun(&fresh_a);
    end(NULL, "ok");
    expect_run(own, parent, left);
    expect_own_begun();
    end(NULL, "ok");
    expect_run_from(later, left);
    end(&fresh_a, "ok");
    expect_run_from(branch, before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        MANY(test_branch_of_what_a_running_branch_is_to_leave_waits_for_it),
        MANY(test_own_run_from_what_a_running_branch_is_to_leave_waits_for_it),
        MANY(test_name_that_a_running_cell_is_to_move_is_waited_for),
        MANY(test_number_that_a_running_cell_is_to_have_is_waited_for),
        MANY(test_name_that_a_waiting_line_is_to_move_is_waited_for),
        MANY(test_branch_that_waits_holds_up_no_other),
        MANY(test_branch_of_nothing_is_refused_while_others_run),
        MANY(test_branch_does_not_wait_for_what_came_after_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
