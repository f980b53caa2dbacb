/* Children that live in a pid namespace below ours and that the session knows nothing of. */
#include "tests/sandbox/live.h"

#include "sandbox/base/step.h"
#include "sandbox/session/session.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that waits for a signal, or has ended and waits to be reaped. */
static pid_t make_child(unsigned long flags, bool ends) {
    pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);
    CHECK(pid >= 0);
    if (pid == 0) {
        while (!ends)
            pause();
        _exit(0);
    }
    siginfo_t info;
    if (ends)
        CHECK_EQUAL(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    return pid;
}

/* Making a cell looks for them, before it starts and once it has ended. */
static void check_cells_work(struct live *live) {
    CHECK_TEXT(live_do(live, "add 1"), "1");
    live_check_counter(live, 1);
}

static void check_reaped(pid_t pid) {
    CHECK_EQUAL(waitpid(pid, NULL, WNOHANG), -1);
    CHECK_EQUAL(errno, ECHILD);
}

static void cells_leave_no_strays(struct live *live) {
    check_cells_work(live);
    CHECK_EQUAL(session_take_strays(live->session), 0);
}

static void child_in_a_sandbox_is_ended_and_told(struct live *live) {
    pid_t pid = make_child(CLONE_NEWPID, false);
    check_cells_work(live);
    check_reaped(pid);
    CHECK_EQUAL(session_take_strays(live->session), 1);
    CHECK_EQUAL(session_take_strays(live->session), 0);
}

static void dead_child_in_a_sandbox_is_reaped_and_told(struct live *live) {
    pid_t pid = make_child(CLONE_NEWPID, true);
    check_cells_work(live);
    check_reaped(pid);
    CHECK_EQUAL(session_take_strays(live->session), 1);
}

static void child_beside_us_is_left_alone(struct live *live) {
    pid_t alive = make_child(0, false), dead = make_child(0, true);
    check_cells_work(live);
    CHECK_EQUAL(session_take_strays(live->session), 0);
    CHECK_EQUAL(waitpid(alive, NULL, WNOHANG), 0);
    CHECK_EQUAL(waitpid(dead, NULL, WNOHANG), dead);
    CHECK_EQUAL(kill(alive, SIGKILL), 0);
    CHECK_EQUAL(waitpid(alive, NULL, 0), alive);
}

/* Its children, of which one is the cage with the images' keepers in it, are left to us then. */
static void session_whose_zygote_ended_makes_no_cell_and_waits_for_nobody(struct live *live) {
    struct cell *cell = NULL;
    struct error error = {0};
    siginfo_t info;
    check_cells_work(live);
    CHECK_EQUAL(kill(live->session->zygote.pid, SIGKILL), 0);
    CHECK_EQUAL(waitid(P_PID, (id_t)live->session->zygote.pid, &info, WEXITED | WNOWAIT), 0);
    /* The first one has a sandbox that was asked for before, and an image that may be gone with the cage. */
    if (cell_create(live->session, &(struct cell_options){0}, &cell, &error) == 0)
        cell_discard(cell);
    for (int i = 0; i < 2; i++) {
        CHECK(cell_create(live->session, &(struct cell_options){0}, &cell, &error) < 0);
        CHECK_EQUAL(error.step, STEP_ZYGOTE);
    }
}

int main(void) {
    static const struct live_case cases[] = {
        {.name = "cells_leave_no_strays", .run = cells_leave_no_strays},
        {.name = "child_in_a_sandbox_is_ended_and_told", .run = child_in_a_sandbox_is_ended_and_told},
        {.name = "dead_child_in_a_sandbox_is_reaped_and_told", .run = dead_child_in_a_sandbox_is_reaped_and_told},
        {.name = "child_beside_us_is_left_alone", .run = child_beside_us_is_left_alone},
        {.name = "session_whose_zygote_ended_makes_no_cell_and_waits_for_nobody",
         .run = session_whose_zygote_ended_makes_no_cell_and_waits_for_nobody},
    };
    return live_main("strays", cases, sizeof cases / sizeof cases[0]);
}
