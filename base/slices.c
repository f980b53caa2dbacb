/*
 * slices.c - a turn of the others once STEP_MS have passed.
 *
 * What serves the others may not begin work here: so a turn within a turn is none.
 */
#define _GNU_SOURCE
#include "slices.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 10, WAIT_MS = 2 };

static _Thread_local struct {
    slices_turn *turn;
    void *arg;
    int64_t last_ms; /* when others had their turn last */
    bool is_turning;
} others;

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void slices_serve(slices_turn *turn, void *arg) {
    others.turn = turn;
    others.arg = arg;
    slices_served();
}

void slices_served(void) {
    others.last_ms = now_ms();
}

static void turn(int wait_ms) {
    others.is_turning = true;
    others.turn(others.arg, wait_ms);
    others.is_turning = false;
    slices_served();
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

static int await_readable(int fd, int timeout_ms) {
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    int n;
    do
        n = poll(&readable, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : n == 0 ? -ETIMEDOUT : 0;
}

int slices_await(int fd, int timeout_ms) {
    const int64_t begun_ms = now_ms();
    int r = await_readable(fd, others.turn && timeout_ms > STEP_MS / 2 ? STEP_MS / 2 : timeout_ms);
    while (r == -ETIMEDOUT && now_ms() - begun_ms < timeout_ms) {
        slices_wait();
        r = await_readable(fd, 0);
    }
    return r;
}
