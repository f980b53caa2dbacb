/* Threads go on from cell to cell, in whatever they were doing, and keep their signals and robust mutexes. */
#include "tests/sandbox/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

static void thread_can_be_joined_in_a_later_cell(struct live *live) {
    static const char *const kinds[] = {"sleep", "long-sleep", "wait", "poll", "read", "spin", "robust"};
    char number[16], returned[16];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        (void)snprintf(number, sizeof number, "%zu", i);
        (void)snprintf(returned, sizeof returned, "%zu", 1000 + i);
        CHECK_TEXT(live_do(live, "thread %s", kinds[i]), number);
        live_check_counter(live, 0);
        CHECK_TEXT(live_do(live, "name %zu", i), kinds[i]);
        CHECK_TEXT(live_do(live, "poke %zu", i), "ok");
        if (strcmp(kinds[i], "long-sleep") != 0)
            CHECK_TEXT(live_do(live, "join %zu", i), returned);
    }
}

/* Nobody's poll() has to expect an EINTR where no signal has a handler. */
static void endless_poll_is_not_interrupted_when_a_cell_ends(struct live *live) {
    CHECK_TEXT(live_do(live, "thread poll"), "0");
    CHECK_TEXT(live_do(live, "thread read"), "1");
    for (int i = 0; i < 5; i++)
        live_check_counter(live, 0);
    CHECK_TEXT(live_do(live, "count 0"), "0");
    CHECK_TEXT(live_do(live, "count 1"), "0");
}

/* It is frozen between cells, and runs while one does. */
static void thread_runs_in_each_cell(struct live *live) {
    CHECK_TEXT(live_do(live, "thread sleep"), "0");
    long before = 0;
    for (int i = 0; i < 3; i++) {
        struct cell *cell = live_start(live);
        long now;
        while ((now = strtol(live_ask(cell, "count 0"), NULL, 10)) <= before)
            continue;
        before = now;
        live_commit(cell);
    }
}

static void rollback_removes_new_threads_and_restores_ended_ones(struct live *live) {
    CHECK_TEXT(live_do(live, "thread wait"), "0");
    struct cell *lost = live_start(live);
    CHECK_TEXT(live_ask(lost, "thread wait"), "1");
    CHECK_TEXT(live_ask(lost, "status Threads"), "3");
    CHECK_TEXT(live_ask(lost, "poke 0"), "ok");
    CHECK_TEXT(live_ask(lost, "join 0"), "1000");
    cell_discard(lost);
    CHECK_TEXT(live_do(live, "status Threads"), "2");
    CHECK_TEXT(live_do(live, "poke 0"), "ok");
    CHECK_TEXT(live_do(live, "join 0"), "1000");
    CHECK_TEXT(live_do(live, "status Threads"), "1");
}

/* The death of its thread's tasks at the end of a cell is not the death of the owner. */
static void robust_mutex_keeps_its_owner(struct live *live) {
    CHECK_TEXT(live_do(live, "thread robust"), "0");
    CHECK_TEXT(live_do(live, "lock"), "EBUSY");
    live_check_counter(live, 0);
    CHECK_TEXT(live_do(live, "lock"), "EBUSY");
    CHECK_TEXT(live_do(live, "poke 0"), "ok");
    CHECK_TEXT(live_do(live, "join 0"), "1000");
    CHECK_TEXT(live_do(live, "lock"), "locked");
}

static void signal_handlers_and_masks_go_on(struct live *live) {
    CHECK_TEXT(live_do(live, "signals"), "0");
    CHECK_TEXT(live_do(live, "fault"), "handled");
    CHECK_TEXT(live_do(live, "fault"), "handled");
    CHECK_TEXT(live_do(live, "status SigBlk"), "0000000000000200");
    CHECK_TEXT(live_do(live, "status SigIgn"), "0000000000000800");
}

static void many_threads_go_on(struct live *live) {
    const int many = live_times(200);
    struct cell *cell = live_start(live);
    char expected[16];
    for (int i = 0; i < many; i++) {
        (void)snprintf(expected, sizeof expected, "%d", i);
        CHECK_TEXT(live_ask(cell, "thread wait"), expected);
    }
    live_commit(cell);
    (void)snprintf(expected, sizeof expected, "%d", many + 1);
    CHECK_TEXT(live_do(live, "status Threads"), expected);
    cell = live_start(live);
    for (int i = 0; i < many; i++) {
        (void)snprintf(expected, sizeof expected, "%d", 1000 + i);
        CHECK_TEXT(live_ask(cell, "poke %d", i), "ok");
        CHECK_TEXT(live_ask(cell, "join %d", i), expected);
    }
    live_commit(cell);
    CHECK_TEXT(live_do(live, "status Threads"), "1");
}

/* A birth that it was in the middle of is whole in the next cell, and keeps nobody from ending this one. */
static void thread_frozen_during_fork_or_clone_completes_it_later(struct live *live) {
    static const char *const kinds[] = {"fork", "birth"};
    const int cells = live_times(60);
    char number[16], returned[16];
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        (void)snprintf(number, sizeof number, "%zu", i);
        (void)snprintf(returned, sizeof returned, "%zu", 1000 + i);
        CHECK_TEXT(live_do(live, "thread %s", kinds[i]), number);
        for (int n = 0; n < cells; n++)
            live_check_counter(live, 0);
        CHECK_TEXT(live_do(live, "poke %zu", i), "ok");
        CHECK_TEXT(live_do(live, "join %zu", i), returned);
    }
    CHECK_TEXT(live_do(live, "status Threads"), "1");
}

static const struct live_case cases[] = {
    {"thread_can_be_joined_in_a_later_cell", thread_can_be_joined_in_a_later_cell, NULL},
    {"endless_poll_is_not_interrupted_when_a_cell_ends", endless_poll_is_not_interrupted_when_a_cell_ends, NULL},
    {"thread_runs_in_each_cell", thread_runs_in_each_cell, NULL},
    {"rollback_removes_new_threads_and_restores_ended_ones", rollback_removes_new_threads_and_restores_ended_ones,
     NULL},
    {"robust_mutex_keeps_its_owner", robust_mutex_keeps_its_owner, NULL},
    {"signal_handlers_and_masks_go_on", signal_handlers_and_masks_go_on, NULL},
    {"many_threads_go_on", many_threads_go_on, NULL},
    {"thread_frozen_during_fork_or_clone_completes_it_later", thread_frozen_during_fork_or_clone_completes_it_later,
     NULL},
};

int main(void) {
    return live_main("threads", cases, sizeof cases / sizeof cases[0]);
}
