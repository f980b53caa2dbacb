/* report.c - a run's fields as JSON; failure.c reads the line and column of an error from its traceback. */

#include "report.h"

#include "kernel/base/clock.h"
#include "kernel/run/accounts.h"
#include "kernel/run/travel.h"
#include "kernel/worker/failure.h"
#include "kernel/worker/isolation.h"

static double ms(int64_t us) {
    return (double)us / CLOCK_MS;
}

static json_t *metrics(const struct run *run) {
    const struct cell_usage *usage = &run->result.facts.end.usage;
    return json_pack("{s:f, s:f, s:I, s:f, s:I, s:I, s:I, s:I}", "wall_ms", ms(run->result.ended_us - run->started_us),
                     "cpu_ms", ms((int64_t)usage->cpu_us), "max_memory_bytes", (json_int_t)usage->memory_peak_bytes,
                     "sandbox_ms", ms(run->result.sandbox_us), "stdout_bytes", (json_int_t)run->result.stdout_bytes,
                     "stderr_bytes", (json_int_t)run->result.stderr_bytes, "dropped_bytes",
                     (json_int_t)(run->result.dropped_bytes + run->now.displays.dropped_bytes), "processes_max",
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
        .number = run->asked.shown_number,
        .order = run->result.rolled_back ? FAILURE_INNERMOST_FIRST : FAILURE_INNERMOST_LAST,
    };
    return run->result.error ? failure_json(run->result.error, &source) : json_null();
}

static json_t *what_ran(const struct accounts *accounts, const struct run *run) {
    return json_pack("{s:s, s:s, s:s, s:b, s:b, s:s, s:s, s:s, s:s, s:s?, s:s?, s:b, s:s*, s:s*}", "run_id",
                     run->run_id, "session_id", accounts->session_id, "outcome", outcome_row(run->result.outcome)->name,
                     "rolled_back", run->result.rolled_back, "fresh", run->asked.spec.fresh, "language", "python",
                     "code_sha256", run->asked.code_sha256, "environment_sha256", accounts->environment_sha256,
                     "profile", accounts->profile->name, "image", travel_image(run), "parent", travel_parent(run),
                     "committed", travel_keeps(run) && !run->result.travelled, "checkpoint",
                     travel_names(run) ? run->asked.spec.checkpoint : NULL, "task",
                     run->asked.spec.task[0] ? run->asked.spec.task : NULL);
}

static json_t *rows_of(json_t *rows) {
    return rows ? json_incref(rows) : json_array();
}

static json_t *what_came_of_it(const struct session *session, const struct run *run) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:O, s:o, s:o}", "limits", limits_json(&run->asked.limits),
                     "metrics", metrics(run), "exit", exit_of(&run->result.facts.end), "error", error_of(run),
                     "artifacts", rows_of(run->result.artifact_rows), "inputs", rows_of(run->result.inputs.rows),
                     "inputs_complete", run->result.inputs.complete, "denied", run->result.denied, "isolation",
                     isolation_json(session), "validation", rows_of(run->result.checks));
}

json_t *report_run(const struct accounts *accounts, const struct session *session, const struct run *run) {
    json_t *report = what_ran(accounts, run);
    json_auto_t *rest = what_came_of_it(session, run);
    json_object_update(report, rest);
    if (run->result.artifacts_omitted > 0)
        json_object_set_new(report, "artifacts_omitted", json_integer((json_int_t)run->result.artifacts_omitted));
    if (json_array_size(run->result.earlier_rows) > 0)
        json_object_set(report, "artifacts_earlier", run->result.earlier_rows);
    return report;
}
