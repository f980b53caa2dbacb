#include "run.h"

#include "kernel/artifacts.h"
#include "kernel/clock.h"
#include "kernel/dispatch.h"
#include "kernel/failure.h"
#include "kernel/inputs_read.h"
#include "kernel/isolation.h"
#include "kernel/kernel.h"
#include "kernel/writing.h"

#include <stdio.h>

struct run *run_create(struct request *request, uint64_t number, const struct limits *limits) {
    struct run *run = calloc(1, sizeof *run);
    if (run)
        run->denied = json_array();
    if (!run || !run->denied) {
        free(run);
        request_destroy(request);
        return NULL;
    }
    run->request = request;
    run->number = number;
    validation_init(&run->validation);
    run->deadline_us = CLOCK_NEVER;
    run->grace_us = CLOCK_NEVER;
    run->closed_us = CLOCK_NEVER;
    run->measure_us = CLOCK_NEVER;
    run->stack_us = CLOCK_NEVER;
    run->limits = *limits;
    run->session_limits = *limits;
    run->started_us = clock_us();
    clock_iso(run->started);
    message_new_id(run->run_id);
    return run;
}

void run_destroy(struct run *run) {
    if (!run)
        return;
    request_destroy(run->request);
    cell_discard(run->cell);
    writing_destroy(run->writing);
    artifacts_destroy(run->artifacts);
    inputs_read_destroy(run->inputs_read);
    validation_fini(&run->validation);
    json_decref(run->question.unasked);
    json_decref(run->checks);
    json_decref(run->artifact_rows);
    ask_fini(&run->ask);
    json_decref(run->inputs);
    json_decref(run->cached);
    transcript_fini(&run->transcript);
    captures_fini(&run->captures);
    json_decref(run->facts.history);
    json_decref(run->denied);
    json_decref(run->reply);
    json_decref(run->error);
    json_decref(run->code);
    free(run);
}

const struct cell_kind *run_kind(const struct run *run) {
    return run->request->row->cell;
}

bool run_brings_code(const struct run *run) {
    return run->code || run->ask.n_files > 0;
}

void run_set_outcome(struct run *run, enum outcome outcome, const char *detail) {
    run->outcome = outcome;
    run->rolled_back = outcome_row(outcome)->rolled_back;
    snprintf(run->facts.detail, sizeof run->facts.detail, "%s", detail);
}

static double ms(int64_t us) {
    return (double)us / CLOCK_MS;
}

static json_t *metrics(const struct run *run) {
    const struct cell_usage *usage = &run->facts.end.usage;
    return json_pack("{s:f, s:f, s:I, s:f, s:I, s:I, s:I, s:I}", "wall_ms", ms(run->ended_us - run->started_us),
                     "cpu_ms", ms((int64_t)usage->cpu_us), "max_memory_bytes", (json_int_t)usage->memory_peak_bytes,
                     "sandbox_ms", ms(run->sandbox_us), "stdout_bytes", (json_int_t)run->stdout_bytes, "stderr_bytes",
                     (json_int_t)run->stderr_bytes, "dropped_bytes",
                     (json_int_t)(run->dropped_bytes + run->displays.dropped_bytes), "processes_max",
                     (json_int_t)usage->processes_peak);
}

static json_t *exit_of(const struct cell_end *end) {
    if (end->signaled)
        return json_pack("{s:i}", "signal", end->signal);
    if (end->exited)
        return json_pack("{s:i}", "code", end->code);
    return json_object();
}

/* An error that ended the run, or null. */
static json_t *error_of(const struct run *run) {
    const struct failure_source source = {
        .code = request_string(run->request, "code", ""),
        .number = run->execution_count,
        .order = run->rolled_back ? FAILURE_INNERMOST_FIRST : FAILURE_INNERMOST_LAST,
    };
    return run->error ? failure_json(run->error, &source) : json_null();
}

static json_t *what_ran(const struct kernel *kernel, const struct run *run) {
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:s, s:s, s:s, s:s, s:s*}", "run_id", run->run_id, "session_id",
                     kernel->channels.session_id, "outcome", outcome_row(run->outcome)->name, "rolled_back",
                     run->rolled_back, "fresh", run->ask.fresh, "language", "python", "code_sha256", run->code_sha256,
                     "environment_sha256", kernel->environment_sha256, "profile", profile_name(kernel->profile), "task",
                     run->ask.task[0] ? run->ask.task : NULL);
}

static json_t *rows_of(json_t *rows) {
    return rows ? json_incref(rows) : json_array();
}

static json_t *what_came_of_it(const struct kernel *kernel, const struct run *run) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:O, s:o, s:o}", "limits", limits_json(&run->limits),
                     "metrics", metrics(run), "exit", exit_of(&run->facts.end), "error", error_of(run), "artifacts",
                     rows_of(run->artifact_rows), "inputs", rows_of(run->inputs), "inputs_complete",
                     run->inputs_complete, "denied", run->denied, "isolation", isolation_json(kernel->runner.session),
                     "validation", rows_of(run->checks));
}

json_t *run_report(const struct kernel *kernel, const struct run *run) {
    json_t *report = what_ran(kernel, run);
    json_auto_t *rest = what_came_of_it(kernel, run);
    json_object_update(report, rest);
    if (run->artifacts_omitted > 0)
        json_object_set_new(report, "artifacts_omitted", json_integer((json_int_t)run->artifacts_omitted));
    return report;
}

void run_parents_note(struct run_parents *parents, uint64_t number, json_t *header) {
    size_t slot = number % RUN_PARENTS;
    json_decref(parents->of[slot].header);
    parents->of[slot].number = number;
    parents->of[slot].header = json_incref(header);
}

json_t *run_parents_find(const struct run_parents *parents, uint64_t number) {
    size_t slot = number % RUN_PARENTS;
    return parents->of[slot].number == number ? parents->of[slot].header : NULL;
}

void run_parents_fini(struct run_parents *parents) {
    for (size_t i = 0; i < RUN_PARENTS; i++)
        json_decref(parents->of[i].header);
    *parents = (struct run_parents){0};
}
