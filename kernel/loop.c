/*
 * loop.c - one turn: watch, wait, serve, tick, in this order.
 *
 * The poll set is built in each turn, with control before iopub before shell. A
 * run begins and is concluded only here, after all handlers have returned. Before
 * a failed run is concluded, the messages that have arrived on shell are queued,
 * up to a bound, because stop_on_error aborts these.
 */

#include "loop.h"

#include "base/slices.h"
#include "kernel/base/clock.h"
#include "kernel/control_travel.h"
#include "kernel/dispatch.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/kernel.h"
#include "kernel/run/ahead.h"
#include "kernel/run/denied.h"
#include "kernel/run/input.h"
#include "kernel/run/watchdog.h"
#include "kernel/run/work.h"

#include <signal.h>
#include <sys/signalfd.h>

/* How many unread messages are queued when a cell fails; later ones are not aborted. */
enum { ARRIVED_MAX = 1000 };

static void signal_ready(void *arg, short events) {
    struct kernel *kernel = arg;
    struct signalfd_siginfo info;
    (void)events;
    if (read(kernel->signal_fd, &info, sizeof info) != sizeof info)
        return;
    if (info.ssi_signo == SIGINT)
        runner_interrupt(&kernel->runner);
    else
        kernel->stopping = true;
}

/* Adds the channels, in the order in which they are served. */
static void watch_channels(struct kernel *kernel, struct poll_set *set) {
    struct jupyter *jupyter = &kernel->jupyter;
    void **sockets = jupyter->channels.sockets;
    if (kernel->signal_fd >= 0)
        poll_set_add_fd(set, kernel->signal_fd, ZMQ_POLLIN, signal_ready, kernel);
    if (jupyter->hold_requests_until_us > clock_us()) {
        poll_set_add_socket(set, sockets[CHANNEL_IOPUB], ZMQ_POLLIN, iopub_serve, jupyter);
        poll_set_deadline(set, jupyter->hold_requests_until_us);
        return;
    }
    poll_set_add_socket(set, sockets[CHANNEL_CONTROL], ZMQ_POLLIN, dispatch_control, kernel);
    poll_set_add_socket(set, sockets[CHANNEL_IOPUB], ZMQ_POLLIN, iopub_serve, jupyter);
    poll_set_add_socket(set, sockets[CHANNEL_SHELL], ZMQ_POLLIN, dispatch_shell, kernel);
    poll_set_add_socket(set, sockets[CHANNEL_STDIN], ZMQ_POLLIN, input_serve, &kernel->runner);
}

/*
 * Advances the runs; concludes those that are over, and begins those that can begin, up
 * to the first that gets a cell: to make one takes some milliseconds, in which nobody
 * looks at the others.
 */
static void tick_runs(struct kernel *kernel, int64_t now_us) {
    struct runner *runner = &kernel->runner;
    bool has_cell = false;
    runner_tick(runner, now_us);
    for (;;) {
        if (runner_aborts(runner))
            dispatch_take(kernel, CHANNEL_SHELL, ARRIVED_MAX);
        denied_tell(runner);
        runner_conclude(runner);
        control_travel_waiting(kernel);
        if (has_cell || !runner_can_begin(runner))
            break;
        preload_cancel(&kernel->preload);
        deferred_now(&kernel->deferred);
        has_cell = runner_begin(runner);
    }
    if (!preload_runs(&kernel->preload)) /* a preload may change the image */
        ahead_make(runner);
}

/* For petri ps. Runs that are over in the same turn are not told. */
static void tell_roster(struct kernel *kernel) {
    const struct runner *runner = &kernel->runner;
    const struct run *run = runner_shown(runner);
    struct roster_now now = {.state = runner->state == RUNNER_UNAVAILABLE ? ROSTER_UNAVAILABLE
                                      : runner->state == RUNNER_WARMING   ? ROSTER_STARTING
                                                                          : ROSTER_IDLE};
    if (runner_has_image(runner) && run) {
        now.state = ROSTER_RUNNING;
        now.execution_count = run->asked.counts ? run->asked.execution_count : 0;
    }
    roster_tell(&kernel->roster, &now);
}

/* The last that is done for an idle kernel. */
static void tick_compact(struct kernel *kernel, int64_t now_us) {
    struct introspections *introspections = &kernel->introspections;
    const bool is_idle = introspections_are_idle(introspections) && !preload_runs(&kernel->preload);
    compact_tick(&kernel->compact, &kernel->runner, &introspections->spare, is_idle, now_us);
}

enum { EXCHANGES_MAX = INTROSPECTIONS_AT_ONCE + 1 + 2 * PLACES };

/* The exchanges with cells that are no run's own. The number. */
static size_t list_exchanges(struct kernel *kernel, struct exchange *list[EXCHANGES_MAX]) {
    size_t n = 0;
    for (size_t i = 0; i < INTROSPECTIONS_AT_ONCE; i++)
        list[n++] = &kernel->introspections.slots[i].exchange;
    list[n++] = &kernel->preload.exchange;
    for (size_t i = 0; i < kernel->runner.n_runs; i++) {
        list[n++] = &kernel->runner.runs[i]->now.validation.exchange;
        list[n++] = &kernel->runner.runs[i]->now.comparison.exchange;
    }
    return n;
}

static void watch_running(struct kernel *kernel, struct exchange *const *exchanges, size_t n, struct poll_set *set) {
    struct runner *runner = &kernel->runner;
    void **sockets = kernel->jupyter.channels.sockets;
    if (kernel->signal_fd >= 0)
        poll_set_add_fd(set, kernel->signal_fd, ZMQ_POLLIN, signal_ready, kernel);
    poll_set_add_socket(set, sockets[CHANNEL_CONTROL], ZMQ_POLLIN, dispatch_control, kernel);
    poll_set_add_socket(set, sockets[CHANNEL_IOPUB], ZMQ_POLLIN, iopub_serve, &kernel->jupyter);
    for (size_t i = 0; i < runner->n_runs; i++)
        if (runner->runs[i]->now.phase == RUN_WORKS)
            work_watch(runner->runs[i], set);
    for (size_t i = 0; i < n; i++)
        exchange_watch(exchanges[i], set);
    denied_watch(runner, set);
}

static void tick_running(struct kernel *kernel, struct exchange *const *exchanges, size_t n, int64_t now_us) {
    struct runner *runner = &kernel->runner;
    watchdog_stop_clock(runner, backpressure_tick(&kernel->jupyter.backpressure, now_us));
    for (size_t i = 0; i < runner->n_runs; i++)
        work_meanwhile(runner->runs[i], now_us);
    for (size_t i = 0; i < n; i++)
        exchange_meanwhile(exchanges[i], now_us);
}

/*
 * What is served while the sandbox has long work: control, subscriptions, signals, and the limits of cells that
 * run. Nothing begins or ends. See: slices_serve().
 */
static void serve_meanwhile(void *arg, int wait_ms) {
    struct kernel *kernel = arg;
    struct runner *runner = &kernel->runner;
    struct exchange *exchanges[EXCHANGES_MAX];
    const size_t n = list_exchanges(kernel, exchanges);
    struct poll_set set;
    poll_set_init(&set);
    runner->is_serving = true;
    watch_running(kernel, exchanges, n, &set);
    poll_set_deadline(&set, clock_us() + wait_ms * CLOCK_MS);
    if (poll_set_turn(&set) == 0) /* where it fails, the loop's own does, and ends the kernel */
        tick_running(kernel, exchanges, n, clock_us());
    runner->is_serving = false;
    kernel->has_served = true;
}

/* One turn of the loop. 0 or -errno. */
static int turn(struct kernel *kernel) {
    struct jupyter *jupyter = &kernel->jupyter;
    struct poll_set set;
    poll_set_init(&set);
    watch_channels(kernel, &set);
    runner_watch(&kernel->runner, &set);
    introspections_watch(&kernel->introspections, &kernel->runner, &set);
    preload_watch(&kernel->preload, &set);
    if (!preload_runs(&kernel->preload))
        ahead_watch(&kernel->runner, &set);
    compact_watch(&kernel->compact, &set);
    denied_watch(&kernel->runner, &set);
    backpressure_watch(&jupyter->backpressure, &set);
    poll_set_deadline(&set, info_deadline(&kernel->info));
    if (kernel->has_served)
        poll_set_deadline(&set, 0);
    kernel->has_served = false;
    int r = poll_set_turn(&set);
    slices_served();
    int64_t now_us = clock_us();
    watchdog_stop_clock(&kernel->runner, backpressure_tick(&jupyter->backpressure, now_us));
    info_tick(&kernel->info, jupyter, now_us);
    tick_runs(kernel, now_us);
    tell_roster(kernel);
    introspections_tick(&kernel->introspections, &kernel->runner, now_us);
    preload_tick(&kernel->preload, &kernel->runner, now_us);
    tick_compact(kernel, now_us);
    if (kernel->info.answered || kernel->runner.state != RUNNER_WARMING)
        deferred_now(&kernel->deferred); /* no reply to kernel_info is delayed by it */
    return r;
}

int loop_run(struct kernel *kernel) {
    int r = 0;
    slices_serve(serve_meanwhile, kernel);
    while (r == 0 && !kernel->stopping)
        r = turn(kernel);
    slices_serve(NULL, NULL);
    return r;
}
