#include "loop.h"

#include "kernel/clock.h"
#include "kernel/denied.h"
#include "kernel/dispatch.h"
#include "kernel/input.h"
#include "kernel/iopub.h"
#include "kernel/kernel.h"

#include <signal.h>
#include <sys/signalfd.h>

static void signal_ready(struct kernel *kernel, void *arg, short events) {
    struct signalfd_siginfo info;
    (void)arg;
    (void)events;
    if (read(kernel->signal_fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGINT)
        runner_interrupt(kernel);
    else
        kernel->stopping = true;
}

/* In the order in which they are served. */
static void watch_channels(struct kernel *kernel, struct poll_set *set) {
    static enum channel control = CHANNEL_CONTROL;
    static enum channel shell = CHANNEL_SHELL;
    void **sockets = kernel->channels.sockets;
    if (kernel->signal_fd >= 0)
        poll_set_add_fd(set, kernel->signal_fd, ZMQ_POLLIN, signal_ready, NULL);
    if (kernel->unheard_us > clock_us()) {
        poll_set_add_socket(set, sockets[CHANNEL_IOPUB], ZMQ_POLLIN, iopub_serve, NULL);
        poll_set_deadline(set, kernel->unheard_us);
        return;
    }
    poll_set_add_socket(set, sockets[CHANNEL_CONTROL], ZMQ_POLLIN, dispatch_serve, &control);
    poll_set_add_socket(set, sockets[CHANNEL_IOPUB], ZMQ_POLLIN, iopub_serve, NULL);
    poll_set_add_socket(set, sockets[CHANNEL_SHELL], ZMQ_POLLIN, dispatch_serve, &shell);
    poll_set_add_socket(set, sockets[CHANNEL_STDIN], ZMQ_POLLIN, input_serve, NULL);
}

/* Waits for something to do, and does it. 0 or -errno. */
static int turn(struct kernel *kernel) {
    struct poll_set set;
    poll_set_init(&set);
    watch_channels(kernel, &set);
    runner_watch(kernel, &set);
    asides_watch(kernel, &set);
    rehearsal_watch(kernel, &set);
    denied_watch(kernel, &set);
    flow_watch(kernel, &set);
    poll_set_deadline(&set, info_deadline(&kernel->info));
    int r = poll_set_turn(&set, kernel);
    int64_t now_us = clock_us();
    flow_tick(kernel, now_us);
    info_tick(kernel, now_us);
    runner_tick(kernel, now_us);
    asides_tick(kernel, now_us);
    rehearsal_tick(kernel, now_us);
    settle_tick(kernel);
    return r;
}

int loop_run(struct kernel *kernel) {
    int r = 0;
    while (r == 0 && !kernel->stopping)
        r = turn(kernel);
    return r;
}
