#include "runner.h"

#include "kernel/answer.h"
#include "kernel/clock.h"
#include "kernel/dispatch.h"
#include "kernel/execute.h"
#include "kernel/finish.h"
#include "kernel/input.h"
#include "kernel/inputs.h"
#include "kernel/iopub.h"
#include "kernel/kernel.h"
#include "kernel/reply.h"
#include "kernel/talk.h"
#include "kernel/warm.h"
#include "kernel/watchdog.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum {
    FRAME_BYTES = 64 << 20, /* a worker's frame may always have; what is too large for its cap ends the cell */
    CLOSED_GRACE_MS = 200,  /* a socket closes a moment before the death that closed it is known */
};

void runner_init(struct runner *runner) {
    *runner = (struct runner){.state = RUNNER_UNAVAILABLE, .why = "the session was not started"};
    worker_link_init(&runner->link);
}

void runner_fini(struct runner *runner) {
    worker_link_detach(&runner->link);
    request_queue_clear(&runner->pending);
    run_destroy(runner->run);
    cell_discard(runner->armed);
    session_destroy(runner->session);
    outputs_fini(&runner->outputs);
    run_parents_fini(&runner->parents);
    runner_init(runner);
}

bool runner_has_image(const struct runner *runner) {
    return runner->state == RUNNER_IDLE || runner->state == RUNNER_RUNNING;
}

void runner_give_up(struct kernel *kernel, const char *why) {
    struct runner *runner = &kernel->runner;
    worker_link_detach(&runner->link);
    session_destroy(runner->session);
    runner->session = NULL;
    outputs_fini(&runner->outputs);
    runner->state = RUNNER_UNAVAILABLE;
    snprintf(runner->why, sizeof runner->why, "%s", why);
    log_write(&kernel->log, LOG_LEVEL_ERROR, "no cell can run: %s", why);
    info_give_up(kernel);
}

void runner_ready(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    worker_link_detach(&runner->link);
    runner->state = RUNNER_IDLE;
    log_write(&kernel->log, LOG_LEVEL_DEBUG, "the interpreter is warm");
}

void runner_submit(struct kernel *kernel, struct request *request) {
    if (kernel->runner.run)
        captures_echo(kernel->runner.run, request->message.content);
    request_queue_push(&kernel->runner.pending, request);
}

/* Makes a cell; ret_us is what it took. 0 or -errno with error. */
static int make_cell(struct kernel *kernel, enum cell_source source, struct cell **ret_cell, int64_t *ret_us,
                     struct sandbox_error *ret_error) {
    int64_t before_us = clock_us();
    int r = cell_create(kernel->runner.session, &(struct cell_options){.source = source}, ret_cell, ret_error);
    unsigned strays = session_take_strays(kernel->runner.session);
    if (strays > 0)
        log_write(&kernel->log, LOG_LEVEL_ERROR,
                  "%u processes that nobody had asked for were found outside of their sandbox, and ended; "
                  "please report this as a security problem",
                  strays);
    /* Where it fails the report says that its inputs may not be complete. */
    if (r == 0 && kernel->config.records.on && cell_watch_opened(*ret_cell) < 0)
        log_write(&kernel->log, LOG_LEVEL_DEBUG, "the files that a cell opens are not noted");
    *ret_us = clock_us() - before_us;
    return r;
}

/* Makes the next cell. As above. */
static int arm(struct kernel *kernel, struct sandbox_error *ret_error) {
    struct runner *runner = &kernel->runner;
    return make_cell(kernel, CELL_FROM_CURRENT, &runner->armed, &runner->armed_us, ret_error);
}

static void arm_ahead(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    struct sandbox_error error = {0};
    char text[512];
    if (runner->armed || runner->arming_failed || arm(kernel, &error) == 0)
        return;
    runner->arming_failed = true;
    log_write(&kernel->log, LOG_LEVEL_WARNING, "%s", sandbox_error_text(&error, text, sizeof text));
}

/* The end of every run, however it went: its cell is frozen, gone, or never was. */
static void conclude(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    struct run *run = runner->run;
    const struct cell_kind *kind = run_kind(run);
    struct request_queue aborted = {0};

    if (run->ended_us == 0)
        run->ended_us = clock_us();
    /* Before the answer: what a client sends once it has that is not to be aborted. */
    if (run->stop_on_error && run->outcome != OUTCOME_OK)
        execute_take_pending(kernel, &aborted);
    comms_end(&kernel->comms, run->rolled_back || run->ask.fresh);
    if (!run->rolled_back)
        kernel->limits = run->session_limits;
    if (run->cell && !run->rolled_back && !run->ask.fresh)
        run_parents_note(&runner->parents, run->number, run->request->message.header);
    kind->end(kernel, run);
    reply_idle(kernel, steal_pointer(run->request));
    execute_abort(kernel, &aborted);
    /* The answer is out; what is expensive comes now. */
    if (run->cell && run->ask.fresh) {
        cell_discard(steal_pointer(run->cell));
    } else if (run->cell) {
        cell_commit(steal_pointer(run->cell));
        runner->touched |= run_brings_code(run);
    }
    if (kind->after)
        kind->after(kernel, run);
    bool gives_back = run->rolled_back;
    runner->run = NULL;
    if (runner->state == RUNNER_RUNNING)
        runner->state = RUNNER_IDLE;
    run_destroy(run);
    if (gives_back)
        malloc_trim(0); /* what was kept for a cell that never happened goes back to the system, not only to malloc() */
}

/* The last of the cell's output, when nobody can write any more. */
static void collect_output(struct runner *runner) {
    outputs_drain(&runner->outputs);
    runner->run->stdout_bytes = runner->outputs.streams[OUTPUT_STDOUT].total_bytes;
    runner->run->stderr_bytes = runner->outputs.streams[OUTPUT_STDERR].total_bytes;
    runner->run->dropped_bytes += runner->outputs.dropped_bytes;
}

void runner_fail(struct kernel *kernel, enum outcome outcome) {
    struct runner *runner = &kernel->runner;
    runner->run->outcome = outcome;
    runner->run->rolled_back = true;
    worker_link_detach(&runner->link);
    if (!runner->run->facts.end.exited && !runner->run->facts.end.signaled)
        cell_measure(runner->run->cell, &runner->run->facts.end.usage);
    cell_discard(steal_pointer(runner->run->cell));
    collect_output(runner);
    conclude(kernel);
}

void runner_broken(struct kernel *kernel, const char *why) {
    struct run *run = kernel->runner.run;
    snprintf(run->facts.detail, sizeof run->facts.detail, "broke petri's control channel (%s)", why);
    runner_fail(kernel, OUTCOME_CRASH);
}

/* The operating system ends what holds more memory than it may. */
static void fail_over_memory(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    limits_text(UNIT_BYTES, run->limits.values[LIMIT_MEMORY], run->facts.limit, sizeof run->facts.limit);
    runner_fail(kernel, OUTCOME_MEMORY);
}

void runner_fail_in_flight(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    snprintf(run->facts.detail, sizeof run->facts.detail,
             "left more open files waiting in sockets than all programs of a user may have there together");
    runner_fail(kernel, OUTCOME_CRASH);
}

static void fail_died(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    cell_end_of(run->cell, &run->facts.end);
    if (run->facts.end.usage.over_memory)
        fail_over_memory(kernel);
    else
        runner_fail(kernel, OUTCOME_CRASH);
}

static void fail_frozen(struct kernel *kernel, int r, const struct sandbox_error *error) {
    struct run *run = kernel->runner.run;
    if (r == -ENOMEM || run->facts.end.usage.over_memory) {
        fail_over_memory(kernel);
        return;
    }
    if (r == -ENOTSUP)
        snprintf(run->facts.detail, sizeof run->facts.detail, "left open what no later cell could have (%s)",
                 error->detail);
    else if (r == -EUCLEAN)
        snprintf(run->facts.detail, sizeof run->facts.detail, "no longer has what petri needs (%s)", error->detail);
    else if (r != -ESRCH)
        sandbox_error_text(error, run->facts.detail, sizeof run->facts.detail);
    runner_fail(kernel, OUTCOME_CRASH);
}

static void tell_leftovers(struct runner *runner) {
    unsigned n = runner->run->facts.end.leftovers;
    char line[128];
    if (n == 0)
        return;
    int bytes =
        snprintf(line, sizeof line, "petri: ended %u process%s that this cell left running.\n", n, n == 1 ? "" : "es");
    runner->outputs.sink(runner->outputs.arg, "stderr", line, (size_t)bytes);
}

/* What of the worker's reply goes on; somebody has to be told where that is not all of it. */
static void take_reply(struct kernel *kernel, struct run *run, const json_t *reply) {
    const struct answer_terms terms = {&run->limits, kernel->profile,
                                       json_object_get(run->request->message.content, "user_expressions")};
    uint64_t dropped_bytes;
    char line[192];
    run->reply = answer_execute(&terms, reply, &dropped_bytes);
    run->dropped_bytes += dropped_bytes;
    if (dropped_bytes == 0)
        return;
    int n = snprintf(line, sizeof line,
                     "petri: %" PRIu64 " bytes of the cell's reply were dropped: over a limit (display, code), or "
                     "nothing that it may have in profile %s.\n",
                     dropped_bytes, profile_name(kernel->profile));
    kernel->runner.outputs.sink(kernel->runner.outputs.arg, "stderr", line, (size_t)n);
}

/* "ok" and "error" are the worker's word; whether it was interrupted is ours. */
static void judge_reply(struct run *run) {
    const char *status = json_string_value(json_object_get(run->reply, "status"));
    const char *ename = json_string_value(json_object_get(run->reply, "ename"));
    run->outcome = status && strcmp(status, "ok") == 0 ? OUTCOME_OK : OUTCOME_ERROR;
    if (run->grace_us != CLOCK_NEVER && ename && strcmp(ename, "KeyboardInterrupt") == 0)
        run->outcome = OUTCOME_INTERRUPTED;
}

void runner_done(struct kernel *kernel, json_t *reply) {
    struct runner *runner = &kernel->runner;
    struct run *run = runner->run;
    struct sandbox_error error = {0};
    json_auto_t *said = json_incref(reply); /* the link, whose frame it is, goes away */
    int r = cell_freeze(run->cell, &run->facts.end, &error);
    if (r < 0) {
        fail_frozen(kernel, r, &error);
        return;
    }
    if (run->facts.end.usage.over_in_flight) {
        runner_fail_in_flight(kernel);
        return;
    }
    run->ended_us = clock_us();
    worker_link_detach(&runner->link);
    collect_output(runner);
    take_reply(kernel, run, said);
    judge_reply(run);
    tell_leftovers(runner);
    if (finish_begin(kernel))
        conclude(kernel);
}

static void sink(void *arg, const char *name, const char *data, size_t bytes) {
    struct kernel *kernel = arg;
    struct run *run = kernel->runner.run;
    transcript_stream(&run->transcript, name, data, bytes);
    if (flow_drops(kernel))
        run->dropped_bytes += bytes;
    else if (!run->silent) {
        captures_note(run, "stream", NULL);
        iopub_stream(kernel, run->request->message.header, name, data, bytes);
    }
}

/* A display within its limit fits, as text in JSON, and one over it that is replaced by a text as a rule. */
static size_t max_frame_bytes(const struct run *run) {
    size_t display = 2 * (size_t)run->limits.values[LIMIT_DISPLAY];
    return display > FRAME_BYTES ? display : FRAME_BYTES;
}

/* For a worker of good faith, which measures before it sends: docs/worker-wire.md, "caps". */
static json_t *caps(const struct run *run) {
    char text[32];
    int64_t display = run->limits.values[LIMIT_DISPLAY];
    return json_pack("{s:I, s:I, s:I, s:s}", "frame", (json_int_t)max_frame_bytes(run), "values",
                     (json_int_t)WIRE_MAX_VALUES, "message", (json_int_t)display, "text",
                     limits_text(UNIT_BYTES, display, text, sizeof text));
}

/* The cell made ahead, or for a fresh run one of image 0: the other stays for the next request. */
static int take_cell(struct kernel *kernel, struct run *run, struct sandbox_error *ret_error) {
    struct runner *runner = &kernel->runner;
    if (run->ask.fresh)
        return make_cell(kernel, CELL_FROM_FIRST, &run->cell, &run->sandbox_us, ret_error);
    int r = runner->armed ? 0 : arm(kernel, ret_error);
    runner->arming_failed = false;
    if (r < 0)
        return r;
    run->cell = steal_pointer(runner->armed);
    run->sandbox_us = runner->armed_us;
    return 0;
}

/* Starts the cell with its request. 0, or -errno with error. */
static int start_cell(struct kernel *kernel, json_t *frame, struct sandbox_error *ret_error) {
    struct runner *runner = &kernel->runner;
    struct run *run = runner->run;
    writeback_cell_starts(&kernel->writeback);
    outputs_begin(&runner->outputs, (uint64_t)run->limits.values[LIMIT_OUTPUT], sink, kernel);
    run->displays.limit_bytes = run->limits.values[LIMIT_DISPLAY];
    run->displays.limit_n = run->limits.values[LIMIT_DISPLAYS];
    int r = worker_link_attach(&runner->link, cell_control_fd(run->cell), max_frame_bytes(run));
    if (r == 0)
        json_object_set_new(frame, "caps", caps(run));
    if (r == 0)
        r = talk_send(&runner->link, frame, run->buffers, run->n_buffers);
    if (r == 0)
        r = cell_start(run->cell, &(struct cell_limits){
                                      .memory_bytes = (uint64_t)run->limits.values[LIMIT_MEMORY],
                                      .processes = (unsigned)run->limits.values[LIMIT_PROCESSES],
                                      .cpus = (unsigned)run->limits.values[LIMIT_CPUS],
                                  });
    if (r < 0)
        snprintf(ret_error->detail, sizeof ret_error->detail, "starting the cell failed: %s", strerror(-r));
    return r;
}

static void refuse(struct kernel *kernel, enum outcome outcome, const char *detail) {
    run_set_outcome(kernel->runner.run, outcome, detail);
    cell_discard(steal_pointer(kernel->runner.run->cell));
    worker_link_detach(&kernel->runner.link);
    conclude(kernel);
}

/* Once a session. */
static void tell_note(struct runner *runner) {
    if (runner->note[0] && !runner->run->silent)
        runner->outputs.sink(runner->outputs.arg, "stderr", runner->note, strlen(runner->note));
    runner->note[runner->run->silent ? strlen(runner->note) : 0] = '\0';
}

static void run_cell(struct kernel *kernel, json_t *frame) {
    struct runner *runner = &kernel->runner;
    struct sandbox_error error = {0};
    char text[512];
    if (runner->state == RUNNER_UNAVAILABLE) {
        refuse(kernel, OUTCOME_SANDBOX, runner->why);
    } else if (take_cell(kernel, runner->run, &error) < 0) {
        refuse(kernel, OUTCOME_SANDBOX, sandbox_error_text(&error, text, sizeof text));
    } else if (inputs_put(runner->run, text, sizeof text) < 0) {
        refuse(kernel, OUTCOME_REFUSED, text);
    } else if (start_cell(kernel, frame, &error) < 0) {
        refuse(kernel, OUTCOME_SANDBOX, error.step ? sandbox_error_text(&error, text, sizeof text) : error.detail);
    } else {
        runner->state = RUNNER_RUNNING;
        tell_note(runner);
        watchdog_begin(kernel);
    }
}

static void begin(struct kernel *kernel, struct request *request) {
    struct runner *runner = &kernel->runner;
    json_auto_t *frame = NULL;
    reply_busy(kernel, request);
    rehearsal_cancel(&kernel->rehearsal);
    settle_now(kernel);
    struct run *run = run_create(request, ++runner->n_runs, &kernel->limits);
    if (!run) {
        log_write(&kernel->log, LOG_LEVEL_ERROR, "a request is lost: no memory");
        return;
    }
    runner->run = run;
    comms_begin(&kernel->comms);
    run_kind(run)->begin(kernel, run, &frame);
    limits_settle(&run->limits);
    if (run->outcome != OUTCOME_OK || run->cached)
        conclude(kernel);
    else
        run_cell(kernel, frame);
}

void runner_interrupt(struct kernel *kernel) {
    struct run *run = kernel->runner.run;
    if (!run || !run->cell)
        return;
    if (run->finishing) {
        finish_interrupt(run);
        return;
    }
    input_forget(kernel);
    cell_signal_group(run->cell, SIGINT);
    if (run->grace_us == CLOCK_NEVER)
        run->grace_us = clock_us() + kernel->grace_us;
}

static void link_ready(struct kernel *kernel, void *arg, short events) {
    struct runner *runner = &kernel->runner;
    (void)arg;
    if (runner->link.fd < 0)
        return; /* another handler of this turn has ended the cell */
    int r = worker_link_serve(&runner->link, events);
    if (r < 0 && runner->run)
        runner_broken(kernel, strerror(-r));
    else if (runner->link.ended && runner->run && runner->run->closed_us == CLOCK_NEVER)
        runner->run->closed_us = clock_us() + CLOSED_GRACE_MS * CLOCK_MS;
}

static void output_ready(struct kernel *kernel, void *arg, short events) {
    struct output_stream *stream = arg;
    struct outputs *outputs = &kernel->runner.outputs;
    (void)events;
    if (kernel->runner.link.fd >= 0)
        outputs_read(outputs, stream == &outputs->streams[OUTPUT_STDOUT] ? OUTPUT_STDOUT : OUTPUT_STDERR);
}

static void exit_ready(struct kernel *kernel, void *arg, short events) {
    struct runner *runner = &kernel->runner;
    (void)arg;
    (void)events;
    if (!runner->run || runner->run->cell == NULL || runner->run->finishing)
        return;
    /* What it said before it died still counts. */
    if (worker_link_serve(&runner->link, ZMQ_POLLIN) == 0)
        talk_frames(kernel);
    if (runner->run)
        fail_died(kernel);
}

static void watch_outputs(struct runner *runner, struct poll_set *set) {
    for (int i = 0; i < OUTPUT_N; i++)
        if (!runner->outputs.streams[i].ended)
            poll_set_add_fd(set, runner->outputs.streams[i].fd, ZMQ_POLLIN, output_ready, &runner->outputs.streams[i]);
    poll_set_deadline(set, outputs_deadline(&runner->outputs));
}

void runner_watch(struct kernel *kernel, struct poll_set *set) {
    struct runner *runner = &kernel->runner;
    if (runner->run && runner->run->finishing) {
        finish_watch(kernel, set);
        return;
    }
    if (runner->state == RUNNER_WARMING || runner->state == RUNNER_RUNNING) {
        bool holds = flow_holds(kernel);
        short events = (short)(worker_link_events(&runner->link) & (holds ? ZMQ_POLLOUT : ZMQ_POLLIN | ZMQ_POLLOUT));
        if (!holds)
            watch_outputs(runner, set);
        if (events)
            poll_set_add_fd(set, runner->link.fd, events, link_ready, NULL);
        if (worker_link_has_more(&runner->link) && !holds)
            poll_set_deadline(set, 0);
    }
    if (runner->state == RUNNER_WARMING) {
        poll_set_deadline(set, runner->warm_deadline_us);
        poll_set_add_fd(set, session_exit_fd(runner->session), ZMQ_POLLIN, warm_exit_ready, NULL);
    }
    if (runner->run) {
        watchdog_watch(kernel, set);
        poll_set_add_fd(set, cell_exit_fd(runner->run->cell), ZMQ_POLLIN, exit_ready, NULL);
    }
}

/* Begins what can be begun. Requests that are refused end at once, so there may be several. */
static void begin_pending(struct kernel *kernel) {
    struct runner *runner = &kernel->runner;
    struct request *request;
    while (!runner->run && runner->state != RUNNER_WARMING && (request = request_queue_pop(&runner->pending)))
        begin(kernel, request);
}

void runner_tick(struct kernel *kernel, int64_t now_us) {
    struct runner *runner = &kernel->runner;
    talk_frames(kernel);
    if (runner->state == RUNNER_WARMING)
        warm_tick(kernel, now_us);
    if (runner->run && runner->run->finishing && finish_step(kernel, now_us))
        conclude(kernel);
    if (runner->run && !runner->run->finishing)
        watchdog_tick(kernel, now_us);
    if (runner->run && !runner->run->finishing)
        outputs_tick(&runner->outputs, now_us);
    begin_pending(kernel);
    if (runner->state == RUNNER_IDLE && !rehearsal_runs(&kernel->rehearsal))
        arm_ahead(kernel);
}
