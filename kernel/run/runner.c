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
#include "kernel/base/sandbox_error.h"
#include "kernel/files/inputs.h"
#include "kernel/files/writeback.h"
#include "kernel/jupyter/backpressure.h"
#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/jupyter/reply.h"
#include "kernel/policy/config.h"
#include "kernel/run/collect.h"
#include "kernel/run/input.h"
#include "kernel/run/messages.h"
#include "kernel/run/refuse.h"
#include "kernel/run/warm.h"
#include "kernel/run/watchdog.h"
#include "kernel/run/where.h"
#include "kernel/worker/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { FRAME_BYTES = 64 << 20 }; /* the least cap of a worker's frame; a frame over its cap ends the cell */

int runner_init(struct runner *runner) {
    runner->state = RUNNER_UNAVAILABLE;
    snprintf(runner->why, sizeof runner->why, "the session was not started");
    exchange_init(&runner->exchange);
    runner->known_inputs = json_object();
    watchdog_init(runner);
    limits_used_clear(&runner->used);
    return runner->known_inputs ? 0 : -ENOMEM;
}

void runner_fini(struct runner *runner) {
    exchange_close(&runner->exchange);
    request_queue_clear(&runner->pending);
    run_destroy(steal_pointer(runner->run));
    cell_discard(steal_pointer(runner->ahead));
    session_destroy(steal_pointer(runner->session));
    outputs_fini(&runner->outputs);
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

/* Makes a cell, in *ret_us microseconds. 0, or -errno with a sentence in ret_error. */
static int make_cell(struct runner *runner, const struct cell_options *options, struct cell **ret_cell, int64_t *ret_us,
                     struct error *ret_error) {
    struct error cause = {0};
    int64_t before_us = clock_us();
    int r = cell_create(runner->session, options, ret_cell, &cause);
    unsigned strays = session_take_strays(runner->session);
    if (strays > 0)
        log_write(runner->log, LOG_LEVEL_ERROR,
                  "%u processes that the session had not started were found outside of their sandbox, and ended; "
                  "please report this as a security problem",
                  strays);
    /* Where this fails, the report says that its inputs may not be complete. */
    if (r == 0 && runner->config->records.on && cell_watch_opened(*ret_cell) < 0)
        log_write(runner->log, LOG_LEVEL_DEBUG, "the files that a cell opens can't be watched");
    *ret_us = clock_us() - before_us;
    return r < 0 ? error_set_sandbox(ret_error, r, &cause) : 0;
}

/* Makes the next cell ahead. Returns as make_cell() does. */
static int make_next(struct runner *runner, struct error *ret_error) {
    const struct cell_options options = {.source = CELL_FROM_CURRENT, .role = CELL_OF_SESSION};
    return make_cell(runner, &options, &runner->ahead, &runner->ahead_us, ret_error);
}

void runner_make_ahead(struct runner *runner) {
    struct error error;
    if (runner->state != RUNNER_IDLE || runner->ahead || runner->ahead_failed || make_next(runner, &error) == 0)
        return;
    runner->ahead_failed = true;
    log_write(runner->log, LOG_LEVEL_WARNING, "%s", error.text);
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
    kind->end(runner, run);
    runner->jupyter->running = NULL;
    reply_idle(runner->jupyter, steal_pointer(run->request));
    reply_aborted(runner->jupyter, &aborted);
    end_cell(runner, run);
    if (kind->after)
        kind->after(runner, run);
    bool gives_back = run->result.rolled_back;
    runner->run = NULL;
    if (runner->state == RUNNER_RUNNING)
        runner->state = RUNNER_IDLE;
    run_destroy(run);
    if (gives_back)
        malloc_trim(0); /* memory used for a rolled back cell goes back to the system, not only to malloc() */
}

/* Reads the rest of the cell's output, once no process of it can write any more. */
static void collect_output(struct runner *runner) {
    outputs_drain(&runner->outputs);
    runner->run->result.stdout_bytes = runner->outputs.streams[OUTPUT_STDOUT].total_bytes;
    runner->run->result.stderr_bytes = runner->outputs.streams[OUTPUT_STDERR].total_bytes;
    runner->run->result.dropped_bytes += runner->outputs.dropped_bytes;
}

static void discard_failed(struct runner *runner) {
    struct run *run = runner->run;
    exchange_close(&runner->exchange);
    if (!run->result.facts.end.exited && !run->result.facts.end.signaled)
        cell_measure(run->now.cell, &run->result.facts.end.usage);
    cell_discard(steal_pointer(run->now.cell));
    collect_output(runner);
    run->now.phase = RUN_OVER;
}

/* The operating system ended the cell for memory. */
static void fail_over_memory(const struct runner *runner) {
    run_fail_memory(runner->run, &runner->run->result.facts.end.usage, runner->profile,
                    runner->config->kernels.memory_bytes);
}

static void fail_died(const struct runner *runner) {
    struct run *run = runner->run;
    cell_end_of(run->now.cell, &run->result.facts.end);
    if (run->result.facts.end.signaled)
        where_renew(run, cell_trace_fd(run->now.cell));
    if (run->result.facts.end.usage.over_memory)
        fail_over_memory(runner);
    else
        run_fail(run, OUTCOME_CRASH);
}

static void fail_broken(struct run *run, const char *why) {
    snprintf(run->result.facts.detail, sizeof run->result.facts.detail, "broke petri's control channel (%s)", why);
    run_fail(run, OUTCOME_CRASH);
}

static void fail_frozen(const struct runner *runner, int r, const struct error *error) {
    struct run *run = runner->run;
    if (r == -ENOMEM || run->result.facts.end.usage.over_memory) {
        fail_over_memory(runner);
        return;
    }
    if (r == -ENOTSUP)
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail,
                 "left something open that can't be copied to the next cell (%.300s)", error->text);
    else if (r == -EUCLEAN)
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail, "no longer has what petri needs (%.300s)",
                 error->text);
    else if (r != -ESRCH)
        sandbox_error_text(error, run->result.facts.detail, sizeof run->result.facts.detail);
    run_fail(run, OUTCOME_CRASH);
}

static void tell_leftovers(struct runner *runner) {
    unsigned n = runner->run->result.facts.end.leftovers;
    char line[128];
    if (n == 0)
        return;
    int bytes =
        snprintf(line, sizeof line, "petri: ended %u process%s that this cell left running.\n", n, n == 1 ? "" : "es");
    runner->outputs.sink(runner->outputs.arg, "stderr", line, (size_t)bytes);
}

/* Takes the fields of the worker's reply that are passed on, and says on stderr if any were dropped. */
static void take_reply(struct runner *runner, struct run *run, const json_t *reply) {
    const struct answer_terms terms = {&run->asked.limits, runner->profile->kind,
                                       json_object_get(run->request->message.content, "user_expressions")};
    uint64_t dropped_bytes;
    char line[192];
    run->result.reply = answer_execute(&terms, reply, &dropped_bytes);
    run->result.dropped_bytes += dropped_bytes;
    if (dropped_bytes == 0)
        return;
    int n = snprintf(line, sizeof line,
                     "petri: %" PRIu64 " bytes of the cell's reply were dropped: over a limit (display, code), or "
                     "nothing that it may have in profile %s.\n",
                     dropped_bytes, runner->profile->name);
    runner->outputs.sink(runner->outputs.arg, "stderr", line, (size_t)n);
}

/* The worker's status says ok or error; it counts as interrupted only if the kernel has interrupted it. */
static void set_outcome(struct run *run) {
    const char *status = json_string_value(json_object_get(run->result.reply, "status"));
    const char *ename = json_string_value(json_object_get(run->result.reply, "ename"));
    run->result.outcome = status && strcmp(status, "ok") == 0 ? OUTCOME_OK : OUTCOME_ERROR;
    if (run->now.grace_us != CLOCK_NEVER && ename && strcmp(ename, "KeyboardInterrupt") == 0)
        run->result.outcome = OUTCOME_INTERRUPTED;
}

/* The worker has replied: freezes the cell, so that nothing of it runs from here on. */
static void freeze(struct runner *runner) {
    struct run *run = runner->run;
    struct error error = {0};
    if (refuse_check_reply(runner->config, run, runner->exchange.reply)) {
        run_fail(run, run->result.outcome);
        return;
    }
    int r = cell_freeze(run->now.cell, &run->result.facts.end, &error);
    if (r < 0) {
        fail_frozen(runner, r, &error);
        return;
    }
    if (run->result.facts.end.usage.over_in_flight) {
        run_fail_in_flight(run);
        return;
    }
    run->result.ended_us = clock_us();
    json_auto_t *reply = json_incref(runner->exchange.reply);
    exchange_close(&runner->exchange);
    collect_output(runner);
    take_reply(runner, run, reply);
    set_outcome(run);
    tell_leftovers(runner);
    collect_begin(runner);
    run->now.phase = RUN_COLLECTS;
}

/* The exchange with the cell has ended; its state says how. */
static void end_work(struct runner *runner) {
    struct run *run = runner->run;
    const struct exchange *exchange = &runner->exchange;
    if (exchange->state == EXCHANGE_DONE)
        freeze(runner);
    else if (exchange->state == EXCHANGE_DIED)
        fail_died(runner);
    else if (exchange->state == EXCHANGE_BROKEN)
        fail_broken(run, exchange->why);
    else
        watchdog_fail(runner, exchange->state);
}

/* While the cell runs: its frames, its use of resources, its deadlines. */
static void work(struct runner *runner, int64_t now_us) {
    exchange_tick(&runner->exchange, now_us);
    if (exchange_has_ended(&runner->exchange) && !watchdog_waits_for_stack(runner))
        end_work(runner);
    else
        watchdog_tick(runner, now_us);
    if (runner->run->now.phase == RUN_WORKS)
        outputs_tick(&runner->outputs, now_us);
}

static void sink(void *arg, const char *name, const char *data, size_t bytes) {
    struct runner *runner = arg;
    struct run *run = runner->run;
    transcript_stream(&run->result.transcript, name, data, bytes);
    if (backpressure_drops(&runner->jupyter->backpressure))
        run->result.dropped_bytes += bytes;
    else if (!run->asked.silent) {
        captures_note(&run->now.captures, run->request->message.header, "stream", NULL);
        iopub_stream(runner->jupyter, run->request->message.header, name, data, bytes);
    }
}

/*
 * Twice the limit of a display: one within its limit fits after JSON escaping,
 * and usually also one over it, which is then replaced by a note.
 */
static size_t max_frame_bytes(const struct run *run) {
    size_t display = 2 * (size_t)run->asked.limits.values[LIMIT_DISPLAY];
    return display > FRAME_BYTES ? display : FRAME_BYTES;
}

/* Tells the worker the limits, so that it does not send what is over them: docs/worker-wire.md, "caps". */
static json_t *caps(const struct run *run) {
    char text[32];
    int64_t display = run->asked.limits.values[LIMIT_DISPLAY];
    return json_pack("{s:I, s:I, s:I, s:s}", "frame", (json_int_t)max_frame_bytes(run), "values",
                     (json_int_t)WIRE_MAX_VALUES, "message", (json_int_t)display, "text",
                     limits_text(UNIT_BYTES, display, text, sizeof text));
}

/*
 * Takes the cell made ahead. For a fresh run makes one from image 0; the one
 * made ahead is then kept for the next request.
 */
static int take_cell(struct runner *runner, struct run *run, struct error *ret_error) {
    const struct cell_options fresh = {.source = CELL_FROM_FIRST, .role = CELL_BESIDE};
    if (run->asked.spec.fresh)
        return make_cell(runner, &fresh, &run->now.cell, &run->result.sandbox_us, ret_error);
    int r = runner->ahead ? 0 : make_next(runner, ret_error);
    runner->ahead_failed = false;
    if (r < 0)
        return r;
    run->now.cell = steal_pointer(runner->ahead);
    run->result.sandbox_us = runner->ahead_us;
    return 0;
}

/* Starts the cell with its request. 0, or -errno with a sentence in ret_error. */
static int start_cell(struct runner *runner, json_t *frame, struct error *ret_error) {
    struct run *run = runner->run;
    const struct exchange_options options = {
        .calls = &messages_calls,
        .arg = runner,
        .max_frame_bytes = max_frame_bytes(run),
        .due_us = CLOCK_NEVER, /* the watchdog has the deadline, because it asks for the stack first */
        .limits = &run->asked.limits,
        .is_watched = session_is_watched(runner->session),
        .buffers = run->asked.buffers,
        .n_buffers = run->asked.n_buffers};
    writeback_cell_starts(runner->writeback);
    where_forget(run, cell_trace_fd(run->now.cell));
    outputs_begin(&runner->outputs, (uint64_t)run->asked.limits.values[LIMIT_OUTPUT], sink, runner);
    run->now.displays.limit_bytes = run->asked.limits.values[LIMIT_DISPLAY];
    run->now.displays.limit_n = run->asked.limits.values[LIMIT_DISPLAYS];
    json_object_set_new(frame, "caps", caps(run));
    int r = exchange_start(&runner->exchange, run->now.cell, frame, &options);
    return r < 0 ? error_set(ret_error, -r, "starting the cell failed: %s", strerror(-r)) : 0;
}

/* Ends a run whose cell has not started. */
static void refuse(struct run *run, enum outcome outcome, const char *detail) {
    run_set_outcome(run, outcome, detail);
    cell_discard(steal_pointer(run->now.cell));
    run->now.phase = RUN_OVER;
}

/* Writes the session's note to the stderr of its first cell that is not silent. */
static void tell_note(struct runner *runner) {
    if (runner->note[0] && !runner->run->asked.silent)
        runner->outputs.sink(runner->outputs.arg, "stderr", runner->note, strlen(runner->note));
    runner->note[runner->run->asked.silent ? strlen(runner->note) : 0] = '\0';
}

static void run_cell(struct runner *runner, json_t *frame) {
    struct run *run = runner->run;
    struct error error;
    if (runner->state == RUNNER_UNAVAILABLE) {
        run->result.facts.mend = runner->mend;
        refuse(run, OUTCOME_SANDBOX, runner->why);
    } else if (take_cell(runner, run, &error) < 0) {
        refuse(run, OUTCOME_SANDBOX, error.text);
    } else if (inputs_put(run->now.cell, &run->asked.spec, &run->result.inputs, &error) < 0) {
        refuse(run, OUTCOME_REFUSED, error.text);
    } else if (start_cell(runner, frame, &error) < 0) {
        refuse(run, OUTCOME_SANDBOX, error.text);
    } else {
        runner->state = RUNNER_RUNNING;
        run->now.phase = RUN_WORKS;
        tell_note(runner);
        watchdog_begin(runner);
    }
}

bool runner_can_begin(const struct runner *runner) {
    return !runner->run && runner->state != RUNNER_WARMING && runner->pending.first;
}

void runner_begin(struct runner *runner) {
    struct request *request = request_queue_pop(&runner->pending);
    json_auto_t *frame = NULL;
    reply_busy(runner->jupyter, request);
    struct run *run = run_create(request, ++runner->n_runs, &runner->limits);
    if (!run) {
        log_write(runner->log, LOG_LEVEL_ERROR, "a request is lost: no memory");
        return;
    }
    runner->run = run;
    runner->jupyter->running = request;
    comms_begin(runner->comms);
    run_kind(run)->begin(runner, run, &frame);
    limits_resolve(&run->asked.limits);
    if (run->result.outcome != OUTCOME_OK || run->result.cached)
        run->now.phase = RUN_OVER;
    else
        run_cell(runner, frame);
}

void runner_interrupt(struct runner *runner) {
    struct run *run = runner->run;
    if (run && run->now.phase == RUN_COLLECTS)
        run->now.interrupted = true;
    if (!run || run->now.phase != RUN_WORKS)
        return;
    input_forget(runner);
    cell_signal_group(run->now.cell, SIGINT);
    if (run->now.grace_us == CLOCK_NEVER)
        run->now.grace_us = clock_us() + runner->grace_us;
}

static void stdout_ready(void *arg, short events) {
    (void)events;
    outputs_read(arg, OUTPUT_STDOUT);
}

static void stderr_ready(void *arg, short events) {
    (void)events;
    outputs_read(arg, OUTPUT_STDERR);
}

static void watch_outputs(struct outputs *outputs, struct poll_set *set) {
    static poll_handler *const ready[OUTPUT_N] = {[OUTPUT_STDOUT] = stdout_ready, [OUTPUT_STDERR] = stderr_ready};
    for (int i = 0; i < OUTPUT_N; i++)
        if (!outputs->streams[i].ended)
            poll_set_add_fd(set, outputs->streams[i].fd, ZMQ_POLLIN, ready[i], outputs);
    poll_set_deadline(set, outputs_deadline(outputs));
}

void runner_watch(struct runner *runner, struct poll_set *set) {
    const struct run *run = runner->run;
    if (run && run->now.phase == RUN_COLLECTS) {
        collect_watch(runner, set);
        return;
    }
    if (runner->exchange.state == EXCHANGE_OPEN && !backpressure_holds(&runner->jupyter->backpressure))
        watch_outputs(&runner->outputs, set);
    exchange_watch(&runner->exchange, set);
    if (run)
        watchdog_watch(runner, set);
}

void runner_tick(struct runner *runner, int64_t now_us) {
    const struct run *run = runner->run;
    if (runner->state == RUNNER_WARMING)
        warm_tick(runner, now_us);
    if (run && run->now.phase == RUN_WORKS)
        work(runner, now_us);
    if (run && run->now.phase == RUN_FAILED)
        discard_failed(runner);
    if (run && run->now.phase == RUN_COLLECTS && collect_step(runner, clock_us()))
        runner->run->now.phase = RUN_OVER;
}
