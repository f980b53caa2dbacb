#include "watchdog.h"

#include "kernel/clock.h"
#include "kernel/input.h"
#include "kernel/kernel.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>

enum {
    MEASURE_MS = 100,      /* where control groups keep the limits */
    MEASURE_CLOSE_MS = 10, /* where this measuring keeps them, or a limit is near */
    STACK_MS = 70,      /* for the first line of the stack to come: the reply is to be there 100 ms after the limit */
    STACK_REST_MS = 20, /* for the others, once it has; the last one ends the waiting */
};

/* How long the running cell takes to its limit of CPU time at the least. */
static int64_t cpu_left_us(const struct run *run) {
    int64_t limit_ms = run->limits.values[LIMIT_CPU];
    int64_t used_ms = (int64_t)run->facts.end.usage.cpu_us / CLOCK_MS;
    return (limit_ms - used_ms) / run->limits.values[LIMIT_CPUS] * CLOCK_MS;
}

static int64_t measure_after_us(const struct runner *runner) {
    int64_t least_us = MEASURE_CLOSE_MS * CLOCK_MS;
    int64_t most_us = session_is_watched(runner->session) ? least_us : MEASURE_MS * CLOCK_MS;
    int64_t left_us = cpu_left_us(runner->run);
    if (runner->run->question.waits) /* all of which the cell may compute away */
        left_us = clock_sooner(left_us, runner->run->question.left_us);
    return left_us < least_us ? least_us : clock_sooner(left_us, most_us);
}

void watchdog_init(struct kernel *kernel) {
    kernel->stack_us = STACK_MS * CLOCK_MS;
}

void watchdog_begin(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    run->deadline_us = run->started_us + run->limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
    run->measure_us = run->started_us + measure_after_us(&kernel->runner);
}

static void fail_limit(struct kernel *kernel, enum outcome outcome, enum limit limit) {
    struct run *run = kernel->runner.run;
    const int64_t value = run->limits.values[limit];
    limits_text(limit_rows[limit].unit, value, run->facts.limit, sizeof run->facts.limit);
    run->facts.at_ceiling = value >= limits_ceiling(kernel->profile, limit);
    runner_fail(kernel, outcome);
}

static void fail_replaced(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    snprintf(run->facts.detail, sizeof run->facts.detail, "was replaced by another program (exec)");
    runner_fail(kernel, OUTCOME_CRASH);
}

/* Reads what there is of the stack; what was written unasked is thrown away by the first call. Bounded, also where
 * the cell goes on writing. */
static bool read_stack(struct run *run, int trace_fd) {
    struct outcome_where *where = &run->facts.where;
    int waiting = 0;
    bool any = false;
    char rest[4096];
    if (ioctl(trace_fd, FIONREAD, &waiting) < 0)
        return false;
    for (size_t left = (size_t)waiting; left > 0;) {
        size_t room = sizeof where->text - where->bytes;
        size_t most = room ? room : sizeof rest;
        ssize_t n = read(trace_fd, room ? where->text + where->bytes : rest, left < most ? left : most);
        if (n <= 0)
            break;
        where->bytes += room ? (size_t)n : 0;
        left -= (size_t)n;
        any = true;
    }
    return any;
}

/* A limit of time is passed. */
static void ask_for_stack(struct kernel *kernel, enum limit limit, int64_t now_us) {
    struct run *run = kernel->runner.run;
    run->over = limit;
    run->question.waits = false;
    read_stack(run, session_trace_fd(kernel->runner.session));
    run->facts.where.bytes = 0;
    cell_signal(run->cell, SIGRTMAX - 1);
    run->deadline_us = CLOCK_NEVER;
    run->stack_us = now_us + kernel->stack_us;
}

static void fail_time(struct kernel *kernel) {
    enum limit limit = kernel->runner.run->over;
    fail_limit(kernel, limit == LIMIT_INPUT_WAIT ? OUTCOME_UNANSWERED : OUTCOME_TIMEOUT, limit);
}

/* What the cell has computed while input() waits is on the wall clock; who is to answer may have come only now. */
static void wait_for_answer(struct kernel *kernel, int64_t now_us) {
    struct run *run = kernel->runner.run;
    input_account(run, now_us);
    run->measure_us = now_us + measure_after_us(&kernel->runner);
    input_ask_again(kernel);
    if (run->question.left_us <= 0)
        ask_for_stack(kernel, LIMIT_TIMEOUT, now_us);
}

static void measure(struct kernel *kernel, int64_t now_us) {
    struct run *run = kernel->runner.run;
    struct cell_usage *usage = &run->facts.end.usage;
    cell_measure(run->cell, usage);
    run->measure_us = now_us + measure_after_us(&kernel->runner);
    /* The worker can miss an interrupt that comes early, or just before a blocking call: docs/worker-wire.md. */
    if (run->grace_us != CLOCK_NEVER)
        cell_signal(run->cell, SIGRTMAX - 2);
    if (usage->replaced)
        fail_replaced(kernel);
    else if (usage->over_memory)
        fail_limit(kernel, OUTCOME_MEMORY, LIMIT_MEMORY);
    else if (usage->over_in_flight)
        runner_fail_in_flight(kernel);
    else if ((int64_t)usage->cpu_us / CLOCK_MS > run->limits.values[LIMIT_CPU])
        fail_limit(kernel, OUTCOME_CPU, LIMIT_CPU);
    else if (run->question.waits)
        wait_for_answer(kernel, now_us);
}

static void stack_ready(struct kernel *kernel, void *arg, short events) {
    struct run *run = kernel->runner.run;
    (void)arg;
    (void)events;
    if (!run || run->stack_us == CLOCK_NEVER || !read_stack(run, session_trace_fd(kernel->runner.session)))
        return;
    int64_t rest_us = outcome_where_is_whole(&run->facts.where) ? 0 : STACK_REST_MS * CLOCK_MS;
    run->stack_us = clock_sooner(run->stack_us, clock_us() + rest_us);
}

void watchdog_watch(struct kernel *kernel, struct poll_set *set) {
    const struct run *run = kernel->runner.run;
    poll_set_deadline(set, run->deadline_us);
    poll_set_deadline(set, input_due_us(run));
    poll_set_deadline(set, run->grace_us);
    poll_set_deadline(set, run->closed_us);
    poll_set_deadline(set, run->measure_us);
    poll_set_deadline(set, run->stack_us);
    if (run->stack_us != CLOCK_NEVER)
        poll_set_add_fd(set, session_trace_fd(kernel->runner.session), ZMQ_POLLIN, stack_ready, NULL);
}

static void fail_interrupted(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    limits_text(UNIT_MS, kernel->grace_us / CLOCK_MS, run->facts.limit, sizeof run->facts.limit);
    runner_fail(kernel, OUTCOME_INTERRUPTED);
}

void watchdog_tick(struct kernel *kernel, int64_t now_us) {
    const struct run *run = kernel->runner.run;
    if (run->closed_us <= now_us)
        runner_broken(kernel, "it was closed");
    else if (run->grace_us <= now_us)
        fail_interrupted(kernel);
    else if (run->stack_us <= now_us)
        fail_time(kernel);
    else if (run->deadline_us <= now_us)
        ask_for_stack(kernel, LIMIT_TIMEOUT, now_us);
    else if (input_due_us(run) <= now_us)
        ask_for_stack(kernel, LIMIT_INPUT_WAIT, now_us);
    else if (run->measure_us <= now_us)
        measure(kernel, now_us);
}
