/*
 * runner.c - see runner.h.
 *
 * A run's cell is frozen before its reply is read, and committed or discarded
 * after the reply is sent, because that takes longer than the client should wait.
 * Clients rely on the order of messages: output, then the error or the files,
 * then the reply, then idle, and then the replies to the requests that it aborts.
 */
#include "runner.h"

#include "kernel/base/clock.h"
#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/jupyter/reply.h"
#include "kernel/run/collect.h"
#include "kernel/run/input.h"
#include "kernel/run/watchdog.h"
#include "kernel/run/work.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>

int runner_init(struct runner *runner) {
    runner->state = RUNNER_UNAVAILABLE;
    snprintf(runner->why, sizeof runner->why, "the session was not started");
    warm_init(&runner->warm);
    runner->known_inputs = json_object();
    watchdog_init(runner);
    limits_used_clear(&runner->used);
    return runner->known_inputs ? 0 : -ENOMEM;
}

void runner_fini(struct runner *runner) {
    request_queue_clear(&runner->pending);
    run_destroy(steal_pointer(runner->run));
    cell_discard(steal_pointer(runner->ahead));
    warm_end(runner);
    session_destroy(steal_pointer(runner->session));
    run_parents_fini(&runner->parents);
    json_decref(runner->known_inputs);
    runner->known_inputs = NULL;
    runner->state = RUNNER_UNAVAILABLE;
}

bool runner_has_image(const struct runner *runner) {
    return runner->state == RUNNER_IDLE || runner->state == RUNNER_RUNNING;
}

void runner_submit(struct runner *runner, struct request *request) {
    if (runner->run)
        captures_echo(&runner->run->now.captures, request->message.content);
    request_queue_push(&runner->pending, request);
}

bool runner_aborts(const struct runner *runner) {
    const struct run *run = runner->run;
    return run && run->now.phase == RUN_OVER && run->asked.stop_on_error && run->result.outcome != OUTCOME_OK;
}

/* Keeps or undoes the run's changes of comms and limits, and notes its header as a parent. */
static void update_session(struct runner *runner, struct run *run) {
    comms_end(runner->comms, run->result.rolled_back || run->asked.spec.fresh);
    if (!run->result.rolled_back)
        runner->limits = run->asked.session_limits;
    if (run->now.cell && !run->result.rolled_back && !run->asked.spec.fresh)
        run_parents_note(&runner->parents, run->number, run->request->message.header);
}

/* The reply is sent: commits or discards the cell, which takes long. */
static void end_cell(struct runner *runner, struct run *run) {
    if (run->now.cell && run->asked.spec.fresh) {
        cell_discard(steal_pointer(run->now.cell));
    } else if (run->now.cell) {
        cell_commit(steal_pointer(run->now.cell));
        runner->has_user_code |= run_brings_code(run);
    }
}

void runner_conclude(struct runner *runner) {
    struct run *run = runner->run;
    struct request_queue aborted = {0};
    if (!run || run->now.phase != RUN_OVER)
        return;
    const struct cell_kind *kind = run_kind(run);
    if (run->result.ended_us == 0)
        run->result.ended_us = clock_us();
    /* Before the reply: requests that a client sends after it has the reply must not be aborted. */
    if (runner_aborts(runner))
        request_queue_move(&runner->pending, run->request->route, &aborted);
    update_session(runner, run);
    kind->end(run);
    runner->jupyter->running = NULL;
    reply_idle(runner->jupyter, steal_pointer(run->request));
    reply_aborted(runner->jupyter, &aborted);
    end_cell(runner, run);
    if (kind->after)
        kind->after(run);
    bool gives_back = run->result.rolled_back;
    runner->run = NULL;
    if (runner->state == RUNNER_RUNNING)
        runner->state = RUNNER_IDLE;
    run_destroy(run);
    if (gives_back)
        malloc_trim(0); /* memory used for a rolled back cell goes back to the system, not only to malloc() */
}

bool runner_can_begin(const struct runner *runner) {
    return !runner->run && runner->state != RUNNER_WARMING && runner->pending.first;
}

void runner_begin(struct runner *runner) {
    struct request *request = request_queue_pop(&runner->pending);
    json_auto_t *frame = NULL;
    reply_busy(runner->jupyter, request);
    struct run *run = run_create(runner, request, ++runner->n_runs, &runner->limits);
    if (!run) {
        log_write(runner->log, LOG_LEVEL_ERROR, "a request is lost: no memory");
        return;
    }
    runner->run = run;
    runner->jupyter->running = request;
    comms_begin(runner->comms);
    run_kind(run)->begin(run, &frame);
    limits_resolve(&run->asked.limits);
    if (run->result.outcome != OUTCOME_OK || run->result.cached)
        run->now.phase = RUN_OVER;
    else
        work_begin(run, frame);
}

void runner_interrupt(struct runner *runner) {
    struct run *run = runner->run;
    if (run && run->now.phase == RUN_COLLECTS)
        run->now.interrupted = true;
    if (!run || run->now.phase != RUN_WORKS)
        return;
    input_forget(run);
    cell_signal_group(run->now.cell, SIGINT);
    if (run->now.grace_us == CLOCK_NEVER)
        run->now.grace_us = clock_us() + runner->grace_us;
}

void runner_watch(struct runner *runner, struct poll_set *set) {
    struct run *run = runner->run;
    if (runner->state == RUNNER_WARMING)
        warm_watch(runner, set);
    if (run && run->now.phase == RUN_COLLECTS)
        collect_watch(run, set);
    else if (run)
        work_watch(run, set);
}

void runner_tick(struct runner *runner, int64_t now_us) {
    struct run *run = runner->run;
    if (runner->state == RUNNER_WARMING)
        warm_tick(runner, now_us);
    if (run)
        work_tick(run, now_us);
    if (run && run->now.phase == RUN_COLLECTS && collect_step(run, clock_us()))
        run->now.phase = RUN_OVER;
}
