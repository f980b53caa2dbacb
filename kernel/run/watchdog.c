/*
 * watchdog.c - deadlines of a running cell. Of several that are over, the first
 * counts: interrupt, stack, clock, input.
 *
 * A cell over its time is first asked for its stack, by a signal, and fails at
 * stack_us. Meanwhile it has no deadline, so it is asked once.
 */

#include "watchdog.h"

#include "kernel/base/clock.h"
#include "kernel/policy/config.h"
#include "kernel/run/input.h"
#include "kernel/run/runner.h"
#include "kernel/run/stream.h"
#include "kernel/run/where.h"

#include <signal.h>
#include <stdio.h>

enum {
    STACK_MS = 70,       /* until the first line of the stack: the reply has to be sent within 100 ms of the limit */
    ASKED_PARTS = 16,    /* of the limit of memory: after each one more the cell is asked where it is */
    WARNED_PERCENT = 80, /* of the time limit, when the user is told */
    WARNED_LEAST_MS = 60000, /* the least such limit: of a shorter one the rest is no time to act in */
    STACK_REST_MS = 20,      /* for the other lines after the first; the last line ends the waiting */
};

void watchdog_init(struct runner *runner) {
    runner->stack_us = STACK_MS * CLOCK_MS;
}

void watchdog_begin(struct run *run) {
    run->now.deadline_us = clock_us() + run->asked.limits.values[LIMIT_TIMEOUT] * CLOCK_MS;
}

void watchdog_stop_clock(struct runner *runner, int64_t us) {
    for (size_t i = 0; i < runner->n_runs && us > 0; i++) {
        struct run_progress *now = &runner->runs[i]->now;
        now->deadline_us += now->phase != RUN_WORKS || now->deadline_us == CLOCK_NEVER ? 0 : us;
    }
}

static void fail_limit(struct run *run, enum outcome outcome, enum limit limit) {
    run_fail_limit(run, outcome, run->runner->profile, limit);
}

static void fail_replaced(struct run *run) {
    snprintf(run->result.facts.detail, sizeof run->result.facts.detail, "was replaced by another program (exec)");
    run_fail(run, OUTCOME_CRASH);
}

bool watchdog_waits_for_stack(const struct run *run) {
    return run->now.exchange.state == EXCHANGE_OVER_CPU && run->now.stack_us != CLOCK_NEVER;
}

/* When the user is told that the time is nearly over; CLOCK_NEVER where there is nothing to tell, or no time to act. */
static int64_t warning_us(const struct run *run) {
    const int64_t limit_ms = run->asked.limits.values[LIMIT_TIMEOUT];
    const bool tells = limit_ms >= WARNED_LEAST_MS && !run->now.warned && !run->asked.silent;
    if (!tells || run->now.deadline_us == CLOCK_NEVER)
        return CLOCK_NEVER;
    return run->now.deadline_us - limit_ms * CLOCK_MS / 100 * (100 - WARNED_PERCENT);
}

static void warn(struct run *run) {
    const int64_t limit_ms = run->asked.limits.values[LIMIT_TIMEOUT];
    char limit[32], left[32], more[96], line[384];
    run->now.warned = true;
    limits_more(run->runner->profile, LIMIT_TIMEOUT, limit_ms, more, sizeof more);
    const char *const next[] = {more[0] ? " For more time begin the cell with " : "", more, more[0] ? "." : ""};
    int n = snprintf(line, sizeof line,
                     "petri: this cell has used %d %% of its time limit of %s. In %s it is ended and undone; interrupt "
                     "it before to keep what it has done.%s%s%s\n",
                     WARNED_PERCENT, limits_text(UNIT_MS, limit_ms, limit, sizeof limit),
                     limits_text(UNIT_MS, limit_ms / 100 * (100 - WARNED_PERCENT) / 1000 * 1000, left, sizeof left),
                     next[0], next[1], next[2]);
    stream_tell(run, line, (size_t)n);
}

/* A limit of time is reached: asks for the stack. */
static void ask_for_stack(struct run *run, enum limit limit, int64_t now_us) {
    run->now.over = limit;
    run->now.question.waits = false;
    where_forget(run);
    where_ask(run);
    run->now.deadline_us = CLOCK_NEVER;
    run->now.stack_us = now_us + run->runner->stack_us;
}

void watchdog_fail(struct run *run, enum exchange_state state) {
    const struct runner *runner = run->runner;
    if (state == EXCHANGE_REPLACED) {
        fail_replaced(run);
    } else if (state == EXCHANGE_OVER_MEMORY) {
        where_renew(run);
        run_fail_memory(run, &run->now.exchange.usage, runner->profile, runner->config->kernels.memory_bytes);
    } else if (state == EXCHANGE_OVER_IN_FLIGHT) {
        run_fail_in_flight(run);
    } else if (run->now.stack_us == CLOCK_NEVER) {
        ask_for_stack(run, LIMIT_CPU, clock_us());
    }
}

static void fail_time(struct run *run) {
    const enum limit limit = run->now.over;
    fail_limit(run,
               limit == LIMIT_INPUT_WAIT ? OUTCOME_UNANSWERED
               : limit == LIMIT_CPU      ? OUTCOME_CPU
                                         : OUTCOME_TIMEOUT,
               limit);
}

/*
 * While input() waits: counts the cell's CPU time on the wall clock, and sends
 * a question that could not be sent before.
 */
static void wait_for_answer(struct run *run, int64_t now_us) {
    struct exchange *exchange = &run->now.exchange;
    input_account(run, now_us);
    input_ask_again(run);
    if (run->now.question.left_us <= 0)
        ask_for_stack(run, LIMIT_TIMEOUT, now_us);
    else /* the cell may use all that is left as CPU time */
        exchange->measure_us = clock_sooner(exchange->measure_us, now_us + input_measure_after_us(run));
}

/*
 * What ends a cell for its memory leaves it no time to say where it is. So it is
 * asked on the way, when it holds more than half of the limit and each time that
 * it holds clearly more than before. It must not notice: one that waits, for a child
 * that takes the memory, isn't asked.
 */
static void ask_near_memory_limit(struct run *run) {
    const uint64_t limit = (uint64_t)run->asked.limits.values[LIMIT_MEMORY];
    const uint64_t bytes = run->now.exchange.usage.memory_bytes;
    if (bytes < limit / 2 || bytes < run->now.asked_at_bytes + limit / ASKED_PARTS ||
        run->now.stack_us != CLOCK_NEVER || !cell_computes(run->now.cell))
        return;
    run->now.asked_at_bytes = bytes;
    where_renew(run);
    where_ask(run);
}

void watchdog_measured(struct run *run, int64_t now_us) {
    ask_near_memory_limit(run);
    /* The worker can miss an interrupt that comes early, or just before a blocking call: docs/worker-wire.md. */
    if (run->now.grace_us != CLOCK_NEVER)
        cell_signal(run->now.cell, SIGRTMAX - 2);
    if (run->now.question.waits)
        wait_for_answer(run, now_us);
}

static void stack_ready(void *arg, short events) {
    struct run *run = arg;
    (void)events;
    if (run->now.phase != RUN_WORKS || !where_read(run))
        return;
    int64_t rest_us = outcome_where_is_whole(&run->result.facts.where) ? 0 : STACK_REST_MS * CLOCK_MS;
    run->now.stack_us = clock_sooner(run->now.stack_us, clock_us() + rest_us);
}

void watchdog_watch(struct run *run, struct poll_set *set) {
    poll_set_deadline(set, run->now.deadline_us);
    poll_set_deadline(set, warning_us(run));
    poll_set_deadline(set, input_due_us(run));
    poll_set_deadline(set, run->now.grace_us);
    poll_set_deadline(set, run->now.stack_us);
    if (run->now.stack_us != CLOCK_NEVER)
        poll_set_add_fd(set, cell_trace_fd(run->now.cell), ZMQ_POLLIN, stack_ready, run);
}

static void fail_interrupted(struct run *run) {
    limits_text(UNIT_MS, run->runner->grace_us / CLOCK_MS, run->result.facts.limit, sizeof run->result.facts.limit);
    run_fail(run, OUTCOME_INTERRUPTED);
}

void watchdog_tick(struct run *run, int64_t now_us) {
    if (warning_us(run) <= now_us && now_us < run->now.deadline_us)
        warn(run);
    if (run->now.grace_us <= now_us)
        fail_interrupted(run);
    else if (run->now.stack_us <= now_us)
        fail_time(run);
    else if (run->now.deadline_us <= now_us)
        ask_for_stack(run, LIMIT_TIMEOUT, now_us);
    else if (input_due_us(run) <= now_us)
        ask_for_stack(run, LIMIT_INPUT_WAIT, now_us);
}
