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
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/jupyter/reply.h"
#include "kernel/jupyter/route.h"
#include "kernel/run/accounts.h"
#include "kernel/run/collect.h"
#include "kernel/run/input.h"
#include "kernel/run/travel.h"
#include "kernel/run/watchdog.h"
#include "kernel/run/work.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

_Static_assert(PLACES *POLL_SET_OF_RUN + POLL_SET_OTHERS <= POLL_SET_MAX, "the poll set has room for each run");

enum { SETTLE_MS = 5 }; /* between two looks at what cells have left that have ended */

int runner_init(struct runner *runner) {
    runner->state = RUNNER_UNAVAILABLE;
    snprintf(runner->why, sizeof runner->why, "the session was not started");
    runner->waiting.bytes_max = WAITING_BYTES_MAX;
    warm_init(&runner->warm);
    travel_init(runner);
    runner->known_inputs = json_object();
    watchdog_init(runner);
    limits_used_clear(&runner->used);
    return runner->known_inputs ? 0 : -ENOMEM;
}

void runner_fini(struct runner *runner) {
    waiting_clear(&runner->waiting);
    request_queue_clear(&runner->travels);
    while (runner->n_runs > 0)
        run_destroy(runner->runs[--runner->n_runs]);
    runner->own = NULL;
    cell_discard(steal_pointer(runner->ahead));
    warm_end(runner);
    travel_fini(runner);
    session_destroy(steal_pointer(runner->session));
    run_parents_fini(&runner->parents);
    json_decref(runner->known_inputs);
    json_decref(runner->missed);
    runner->known_inputs = runner->missed = NULL;
    runner->state = RUNNER_UNAVAILABLE;
}

bool runner_has_image(const struct runner *runner) {
    return runner->state == RUNNER_IDLE || runner->state == RUNNER_RUNNING;
}

/* It is over before it is a run: it takes no number, and is not recorded. */
static void refuse_request(struct runner *runner, struct request *request) {
    struct outcome_facts facts = {0};
    snprintf(
        facts.detail, sizeof facts.detail,
        "what waits to be run may have %d MiB of memory, and has no room for it (send it again when some of that is "
        "done)",
        (int)(runner->waiting.bytes_max >> 20));
    json_t *error = outcome_error(OUTCOME_REFUSED, &facts);
    reply_busy(runner->jupyter, request);
    if (!request_bool(request, "silent", false))
        iopub_publish(runner->jupyter, request->message.header, "error", json_copy(error));
    json_object_set_new(error, "status", json_string("error"));
    json_object_set_new(error, "execution_count", json_integer(runner->execution_count));
    if (request->route->cell->has_reply)
        reply_send(runner->jupyter, request, "execute_reply", NULL, json_incref(error));
    json_decref(error);
    reply_idle(runner->jupyter, request);
}

void runner_submit(struct runner *runner, struct request *request) {
    for (size_t i = 0; i < runner->n_runs; i++)
        captures_echo(&runner->runs[i]->now.captures, request->message.content);
    if (waiting_has_room(&runner->waiting, request))
        waiting_push(&runner->waiting, request);
    else
        refuse_request(runner, request);
}

bool runner_aborts(const struct runner *runner) {
    const struct run *run = runner->own;
    return run && run->now.phase == RUN_OVER && run->asked.stop_on_error && run->result.outcome != OUTCOME_OK;
}

const struct run *runner_shown(const struct runner *runner) {
    return runner->own ? runner->own : runner->n_runs > 0 ? runner->runs[0] : NULL;
}

bool runner_is_unused(const struct runner *runner) {
    return runner->n_runs == 0 && waiting_is_empty(&runner->waiting);
}

/* Front ends show the last status, so as long as a run is under way it is one of busy. */
static void show(struct runner *runner) {
    const struct run *run = runner_shown(runner);
    runner->jupyter->running = run ? run->request : NULL;
}

/* Keeps or undoes the run's changes of comms and limits, and notes its header as a parent. */
static void update_session(struct runner *runner, struct run *run) {
    const bool keeps = travel_keeps(run);
    comms_end(runner->comms, !keeps);
    if (keeps)
        runner->limits = run->asked.session_limits;
    if (run->now.cell && keeps)
        run_parents_note(&runner->parents, run->number, run->request->message.header);
}

/* The reply is sent: commits or discards the cell, which takes long. */
static void end_cell(struct runner *runner, struct run *run) {
    if (run->now.cell && travel_branches(run))
        travel_keep_branch(run);
    if (run->now.cell && !travel_keeps(run)) {
        cell_discard(steal_pointer(run->now.cell));
    } else if (run->now.cell) {
        cell_commit(steal_pointer(run->now.cell));
        runner->has_user_code |= run_brings_code(run);
        run->result.has_image = true;
    }
    travel_end(run);
}

/* Takes a run out of those that are under way. */
static void remove_run(struct runner *runner, const struct run *run) {
    size_t i = 0;
    while (runner->runs[i] != run)
        i++;
    runner->n_runs--;
    for (; i < runner->n_runs; i++)
        runner->runs[i] = runner->runs[i + 1];
    if (runner->own == run)
        runner->own = NULL;
}

static void conclude(struct runner *runner, struct run *run) {
    const struct cell_kind *kind = run_kind(run);
    struct request_queue aborted = {0};
    if (run->result.ended_us == 0)
        run->result.ended_us = clock_us();
    /* Before the reply: requests that a client sends after it has the reply must not be aborted. */
    if (run == runner->own && runner_aborts(runner))
        request_queue_move(&runner->waiting.own, run->request->route, &aborted);
    if (!run->beside)
        update_session(runner, run);
    else if (run->now.cell && travel_branches(run))
        run_parents_note(&runner->parents, run->number, run->request->message.header);
    kind->end(run);
    remove_run(runner, run);
    show(runner);
    reply_idle(runner->jupyter, steal_pointer(run->request));
    reply_aborted(runner->jupyter, &aborted);
    end_cell(runner, run);
    if (kind->after)
        kind->after(run);
    variables_forget(&runner->accounts->variables, run->number);
    bool gives_back = run->result.rolled_back;
    if (!run->beside)
        runner->version++;
    if (!run->beside && runner->state == RUNNER_RUNNING)
        runner->state = RUNNER_IDLE;
    run_destroy(run);
    if (gives_back)
        malloc_trim(0); /* memory used for a rolled back cell goes back to the system, not only to malloc() */
}

void runner_conclude(struct runner *runner) {
    for (size_t i = 0; i < runner->n_runs;)
        if (runner->runs[i]->now.phase == RUN_OVER)
            conclude(runner, runner->runs[i]);
        else
            i++;
}

bool runner_can_begin(const struct runner *runner) {
    return places_have_next(runner);
}

/* Adds a run to those that are under way. */
static void add_run(struct runner *runner, struct run *run) {
    runner->runs[runner->n_runs++] = run;
    run->comms = run->beside ? &run->own_comms : runner->comms;
    comms_begin(run->comms);
    if (!run->beside)
        runner->own = run;
    show(runner);
}

/* One that comes while others are served (slices_serve()) waits for the end of what the sandbox does for the run. */
static void interrupt(struct run *run) {
    const bool works = run->now.phase == RUN_WORKS && run->now.exchange.state != EXCHANGE_DONE;
    run->now.interrupted = !works && run->now.phase != RUN_FAILED;
    if (!works)
        return;
    input_forget(run);
    cell_signal_group(run->now.cell, SIGINT);
    if (run->now.grace_us == CLOCK_NEVER)
        run->now.grace_us = clock_us() + run->runner->grace_us;
}

bool runner_begin(struct runner *runner) {
    struct request *request = places_take_next(runner);
    json_auto_t *frame = NULL;
    const struct cell_kind *kind = request->route->cell;
    reply_busy(runner->jupyter, request);
    if (kind->is_ignored && kind->is_ignored(runner, request)) {
        reply_idle(runner->jupyter, request);
        return false;
    }
    struct run *run = run_create(runner, request, ++runner->n_begun, &runner->limits);
    if (!run) {
        log_write(runner->log, LOG_LEVEL_ERROR, "a request is lost: no memory");
        return false;
    }
    add_run(runner, run);
    run_kind(run)->begin(run, &frame);
    limits_resolve(&run->asked.limits);
    if (run->now.comparison.is_on)
        run->now.phase = RUN_COLLECTS;
    else if (run->result.outcome != OUTCOME_OK || run->result.cached || run->result.travelled)
        run->now.phase = RUN_OVER;
    else
        work_begin(run, frame);
    if (run->now.interrupted && run->now.phase == RUN_WORKS)
        interrupt(run);
    return run->now.phase == RUN_WORKS;
}

void runner_interrupt(struct runner *runner) {
    for (size_t i = 0; i < runner->n_runs; i++)
        interrupt(runner->runs[i]);
}

void runner_interrupt_one(struct runner *runner, const char *msg_id) {
    struct request_queue aborted = {0};
    for (size_t i = 0; i < runner->n_runs; i++)
        if (strcmp(runner->runs[i]->request->message.msg_id, msg_id) == 0)
            interrupt(runner->runs[i]);
    waiting_take(&runner->waiting, msg_id, &aborted);
    reply_aborted(runner->jupyter, &aborted);
}

void runner_watch(struct runner *runner, struct poll_set *set) {
    if (runner->state == RUNNER_WARMING)
        warm_watch(runner, set);
    travel_watch(runner, set);
    /* Here, after all that was concluded in this turn: what ends last would wait for the next request otherwise. */
    if (runner_has_image(runner) && session_settle(runner->session))
        poll_set_deadline(set, clock_us() + SETTLE_MS * CLOCK_MS);
    if (runner_can_begin(runner))
        poll_set_deadline(set, 0); /* in the last turn another one began, or a place is free now */
    for (size_t i = 0; i < runner->n_runs; i++) {
        struct run *run = runner->runs[i];
        if (run->now.phase == RUN_COLLECTS)
            collect_watch(run, set);
        else
            work_watch(run, set);
    }
}

void runner_tick(struct runner *runner, int64_t now_us) {
    if (runner->state == RUNNER_WARMING)
        warm_tick(runner, now_us);
    for (size_t i = 0; i < runner->n_runs; i++) {
        struct run *run = runner->runs[i];
        work_tick(run, now_us);
        if (run->now.phase == RUN_COLLECTS && collect_step(run, clock_us()))
            run->now.phase = RUN_OVER;
    }
    input_tick(runner);
    travel_tick(runner, now_us);
}
