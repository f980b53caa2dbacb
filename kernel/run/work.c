/*
 * work.c - see work.h.
 *
 * A run's cell is frozen before its reply is read. A failed cell is discarded at
 * once, and what it has written is read before the run is over.
 */

#include "work.h"

#include "kernel/base/clock.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/files/inputs.h"
#include "kernel/files/writeback.h"
#include "kernel/jupyter/backpressure.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/policy/config.h"
#include "kernel/run/ahead.h"
#include "kernel/run/collect.h"
#include "kernel/run/messages.h"
#include "kernel/run/recover.h"
#include "kernel/run/refuse.h"
#include "kernel/run/runner.h"
#include "kernel/run/stream.h"
#include "kernel/run/watchdog.h"
#include "kernel/run/where.h"
#include "kernel/worker/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FRAME_BYTES = 64 << 20 }; /* the least cap of a worker's frame; a frame over its cap ends the cell */

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

/* What has kept a cell from starting: the state, or the cell, may have been killed since somebody looked. */
static int why_not_started(struct run *run, int r, struct error *ret_error) {
    struct error cause = {0};
    const int lost = run->beside ? 0 : session_check(run->runner->session, &cause);
    if (lost < 0)
        return error_set_sandbox(ret_error, lost, &cause);
    if (cell_is_whole(run->now.cell))
        return error_set(ret_error, -r, "starting the cell failed: %s", strerror(-r));
    run->result.facts.mend = "It was not the cell's fault: run it again.";
    return error_set(ret_error, -r, "its sandbox was killed before it began, by hand or by Linux for want of memory");
}

/* Starts the cell with its request. 0, or -errno with a sentence in ret_error. */
static int start_cell(struct run *run, json_t *frame, struct error *ret_error) {
    struct runner *runner = run->runner;
    struct outputs *outputs = &run->now.outputs;
    const struct exchange_options options = {
        .calls = &messages_calls,
        .arg = run,
        .max_frame_bytes = max_frame_bytes(run),
        .due_us = CLOCK_NEVER, /* the watchdog has the deadline, because it asks for the stack first */
        .limits = &run->asked.limits,
        .is_watched = session_is_watched(runner->session),
        .buffers = run->asked.buffers,
        .n_buffers = run->asked.n_buffers};
    if (outputs_init(outputs, cell_stdout_fd(run->now.cell), cell_stderr_fd(run->now.cell)) < 0)
        return error_set(ret_error, ENOMEM, "there is no memory");
    if (!run->beside)
        writeback_cell_starts(runner->writeback);
    where_forget(run);
    outputs_begin(outputs, (uint64_t)run->asked.limits.values[LIMIT_OUTPUT], stream_text, run);
    run->now.displays.limit_bytes = run->asked.limits.values[LIMIT_DISPLAY];
    run->now.displays.limit_n = run->asked.limits.values[LIMIT_DISPLAYS];
    json_object_set_new(frame, "caps", caps(run));
    const int r = exchange_start(&run->now.exchange, run->now.cell, frame, &options);
    return r < 0 ? why_not_started(run, r, ret_error) : 0;
}

/* Ends a run whose cell has not started. */
static void refuse(struct run *run, enum outcome outcome, const char *detail) {
    run_set_outcome(run, outcome, detail);
    cell_discard(steal_pointer(run->now.cell));
    recover_session(run);
    run->now.phase = RUN_OVER;
}

/* Writes the session's note to the stderr of its first cell that is not silent. */
static void tell_note(struct run *run) {
    char *note = run->runner->note;
    if (run->asked.silent || run->beside)
        return;
    stream_tell(run, note, strlen(note));
    note[0] = '\0';
}

void work_begin(struct run *run, json_t *frame) {
    struct runner *runner = run->runner;
    struct error error;
    if (runner->state == RUNNER_UNAVAILABLE) {
        run->result.facts.mend = runner->mend;
        refuse(run, OUTCOME_SANDBOX, runner->why);
    } else if (ahead_take(run, &error) < 0) {
        refuse(run, OUTCOME_SANDBOX, error.text);
    } else if (inputs_put(run->now.cell, &run->asked.spec, &run->result.inputs, &error) < 0) {
        refuse(run, OUTCOME_REFUSED, error.text);
    } else if (start_cell(run, frame, &error) < 0) {
        refuse(run, OUTCOME_SANDBOX, error.text);
    } else {
        runner->state = run->beside ? runner->state : RUNNER_RUNNING;
        run->now.phase = RUN_WORKS;
        tell_note(run);
        watchdog_begin(run);
        in_place_begin(&run->now.in_place, clock_us());
    }
}

/* Reads the rest of the cell's output, once no process of it can write any more. */
static void collect_output(struct run *run) {
    outputs_end(&run->now.outputs);
    run->result.stdout_bytes = run->now.outputs.streams[OUTPUT_STDOUT].total_bytes;
    run->result.stderr_bytes = run->now.outputs.streams[OUTPUT_STDERR].total_bytes;
    run->result.dropped_bytes += run->now.outputs.dropped_bytes;
}

static void discard_failed(struct run *run) {
    exchange_close(&run->now.exchange);
    if (!run->result.facts.end.exited && !run->result.facts.end.signaled)
        cell_measure(run->now.cell, &run->result.facts.end.usage);
    if (run->beside)
        collect_output(run); /* its pipes are its own, and go with it */
    cell_discard(steal_pointer(run->now.cell));
    recover_session(run);
    if (!run->beside)
        collect_output(run);
    run->now.phase = RUN_OVER;
}

/* The operating system ended the cell for memory. */
static void fail_over_memory(struct run *run) {
    const struct runner *runner = run->runner;
    run_fail_memory(run, &run->result.facts.end.usage, runner->profile, runner->config->kernels.memory_bytes);
}

static void fail_died(struct run *run) {
    cell_end_of(run->now.cell, &run->result.facts.end);
    if (run->result.facts.end.signaled)
        where_renew(run);
    if (run->result.facts.end.usage.over_memory)
        fail_over_memory(run);
    else
        run_fail(run, OUTCOME_CRASH);
}

/* Whoever has ended the exchange may have said more. */
static void fail_broken(struct run *run, const char *why) {
    if (run->result.facts.detail[0] == '\0')
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail, "broke petri's control channel (%s)", why);
    run_fail(run, OUTCOME_CRASH);
}

static void fail_frozen(struct run *run, int r, const struct error *error) {
    char text[sizeof run->result.facts.detail];
    if (r == -ENOMEM || run->result.facts.end.usage.over_memory) {
        fail_over_memory(run);
        return;
    }
    if (r == -EOWNERDEAD) {
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail,
                 "the process that held its memory was killed, by hand or by Linux for want of memory");
        run_fail(run, OUTCOME_LOST);
        return;
    }
    if (r == -ENOTSUP)
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail,
                 "left something open that can't be copied to the next cell (%.300s)", error->text);
    else if (r == -EUCLEAN)
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail, "no longer has what petri needs (%.300s)",
                 error->text);
    else if (r != -ESRCH)
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail, "could not be kept: %.480s",
                 sandbox_error_text(error, text, sizeof text));
    run_fail(run, OUTCOME_CRASH);
}

static void tell_leftovers(struct run *run) {
    unsigned n = run->result.facts.end.leftovers;
    char line[128];
    if (n == 0)
        return;
    int bytes =
        snprintf(line, sizeof line, "petri: ended %u process%s that this cell left running.\n", n, n == 1 ? "" : "es");
    stream_tell(run, line, (size_t)bytes);
}

/* Takes the fields of the worker's reply that are passed on, and says on stderr if any were dropped. */
static void take_reply(struct run *run, const json_t *reply) {
    const struct profile *profile = run->runner->profile;
    const struct answer_terms terms = {&run->asked.limits, profile->kind,
                                       json_object_get(run->request->message.content, "user_expressions")};
    uint64_t dropped_bytes;
    char line[192];
    run->result.reply = answer_execute(&terms, reply, &dropped_bytes);
    run->result.dropped_bytes += dropped_bytes;
    if (dropped_bytes == 0)
        return;
    int n = snprintf(line, sizeof line,
                     "petri: %" PRIu64 " bytes of the cell's reply were dropped: over a limit (display, code), or "
                     "of a kind that profile %s does not allow.\n",
                     dropped_bytes, profile->name);
    stream_tell(run, line, (size_t)n);
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
static void freeze(struct run *run) {
    struct error error = {0};
    if (refuse_check_reply(run->runner->config, run, run->now.exchange.reply)) {
        run_fail(run, run->result.outcome);
        return;
    }
    int r = cell_freeze(run->now.cell, &run->result.facts.end, &error);
    if (r < 0) {
        fail_frozen(run, r, &error);
        return;
    }
    if (run->result.facts.end.usage.over_in_flight) {
        run_fail_in_flight(run);
        return;
    }
    run->result.ended_us = clock_us();
    json_auto_t *reply = json_incref(run->now.exchange.reply);
    exchange_close(&run->now.exchange);
    collect_output(run);
    take_reply(run, reply);
    set_outcome(run);
    tell_leftovers(run);
    collect_begin(run);
    run->now.phase = RUN_COLLECTS;
}

/* The exchange with the cell has ended; its state says how. */
static void end_work(struct run *run) {
    const struct exchange *exchange = &run->now.exchange;
    if (exchange->state == EXCHANGE_DONE)
        freeze(run);
    else if (exchange->state == EXCHANGE_DIED)
        fail_died(run);
    else if (exchange->state == EXCHANGE_BROKEN)
        fail_broken(run, exchange->why);
    else
        watchdog_fail(run, exchange->state);
}

/* While the cell runs: its frames, its use of resources, its deadlines. */
static void work(struct run *run, int64_t now_us) {
    exchange_tick(&run->now.exchange, now_us);
    if (exchange_has_ended(&run->now.exchange) && !watchdog_waits_for_stack(run))
        end_work(run);
    else
        watchdog_tick(run, now_us);
    if (run->now.phase == RUN_WORKS)
        outputs_tick(&run->now.outputs, now_us);
    if (run->now.phase == RUN_WORKS && run->now.exchange.state == EXCHANGE_OPEN)
        in_place_tick(&run->now.in_place, run->now.cell, now_us);
}

void work_meanwhile(struct run *run, int64_t now_us) {
    const struct exchange *exchange = &run->now.exchange;
    if (run->now.phase != RUN_WORKS)
        return;
    exchange_tick(&run->now.exchange, now_us);
    if (!exchange_has_ended(exchange) || watchdog_waits_for_stack(run))
        watchdog_tick(run, now_us);
    else if (exchange_is_over_limit(exchange))
        watchdog_fail(run, exchange->state);
    if (run->now.phase == RUN_WORKS)
        outputs_tick(&run->now.outputs, now_us);
    else
        cell_kill(run->now.cell);
}

void work_watch(struct run *run, struct poll_set *set) {
    if (run->now.exchange.state == EXCHANGE_OPEN && !backpressure_holds(&run->runner->jupyter->backpressure))
        outputs_watch(&run->now.outputs, set);
    exchange_watch(&run->now.exchange, set);
    watchdog_watch(run, set);
    if (run->now.exchange.state == EXCHANGE_OPEN)
        in_place_watch(&run->now.in_place, set);
}

void work_tick(struct run *run, int64_t now_us) {
    if (run->now.phase == RUN_WORKS)
        work(run, now_us);
    if (run->now.phase == RUN_FAILED)
        discard_failed(run);
}
