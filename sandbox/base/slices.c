/*
 * slices.c - a turn of the others once STEP_MS have passed.
 *
 * What serves the others may not begin work here: so a turn within a turn is none.
 */
#define _GNU_SOURCE
#include "slices.h"

#include "sandbox/base/system.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 10, WAIT_MS = 2 };

static _Thread_local struct {
    sandbox_turn *turn;
    void *arg;
    int64_t last_ms; /* when others had their turn last */
    bool is_turning;
} others;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sandbox_serve(sandbox_turn *turn, void *arg) {
    others.turn = turn;
    others.arg = arg;
    sandbox_served();
}

void sandbox_served(void) {
    others.last_ms = now_ms();
}

static void turn(int wait_ms) {
    others.is_turning = true;
    others.turn(others.arg, wait_ms);
    others.is_turning = false;
    sandbox_served();
}

void slices_step(void) {
    if (others.turn && !others.is_turning && now_ms() - others.last_ms >= STEP_MS)
        turn(0);
}

void slices_wait(void) {
    if (others.turn && !others.is_turning)
        turn(WAIT_MS);
    else
        usleep(WAIT_MS * 1000);
}

int slices_await(int pidfd, int timeout_ms) {
    const int64_t begun_ms = now_ms();
    int r = system_pidfd_await(pidfd, others.turn ? STEP_MS / 2 : timeout_ms);
    while (r == -ETIMEDOUT && now_ms() - begun_ms < timeout_ms) {
        slices_wait();
        r = system_pidfd_await(pidfd, 0);
    }
    return r;
}
