/*
 * budget.c - compares what a task has used with its limits.
 *
 * What a task has used is the sum of its run records and of accounts->unrecorded, and
 * of the runs that are under way, with their time so far.
 * The budget is checked before a run and counted after it: a run that goes over
 * the budget is not ended, but the next one is refused. So a task can go over its
 * time and its bytes by one run, or by those that run side by side.
 */

#include "budget.h"

#include "kernel/base/clock.h"
#include "kernel/run/accounts.h"
#include "kernel/run/runner.h"
#include "protocol/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { HISTORY_RUNS = 10 };

/* For each limit of a task: the total that it is compared with. */
static const struct {
    enum limit limit;
    size_t counted; /* offset in struct record_totals */
    const char *what;
} counts[] = {
    {LIMIT_RUNS, offsetof(struct record_totals, runs), "runs"},
    {LIMIT_BUDGET, offsetof(struct record_totals, wall_ms), "of time"},
    {LIMIT_TASK_ARTIFACTS, offsetof(struct record_totals, artifact_bytes), "of artifacts"},
};

void budget_count(struct accounts *accounts, const char *task, const struct record_totals *totals) {
    json_int_t runs = 0, wall_ms = 0, artifact_bytes = 0;
    if (task[0] == '\0')
        return;
    if (!accounts->unrecorded)
        accounts->unrecorded = json_object();
    json_unpack(json_object_get(accounts->unrecorded, task), "[I, I, I]", &runs, &wall_ms, &artifact_bytes);
    if (runs == 0 && json_object_size(accounts->unrecorded) >= BUDGET_TASKS) {
        log_write(accounts->log, LOG_LEVEL_WARNING, "a run of a task is not counted: there are too many tasks");
        return;
    }
    json_object_set_new(accounts->unrecorded, task,
                        json_pack("[I, I, I]", runs + totals->runs, wall_ms + totals->wall_ms,
                                  artifact_bytes + totals->artifact_bytes));
}

/* Adds the other runs of the task that are under way: so many can't begin side by side that they get past a limit. */
static void add_under_way(const struct run *asks, struct record_totals *totals) {
    const struct runner *runner = asks->runner;
    const int64_t now_us = clock_us();
    for (size_t i = 0; i < runner->n_runs; i++) {
        const struct run *run = runner->runs[i];
        if (run == asks || strcmp(run->asked.spec.task, asks->asked.spec.task) != 0)
            continue;
        totals->runs++;
        totals->wall_ms += (now_us - run->started_us) / CLOCK_MS;
    }
}

/* What a task has used in runs that are over. */
static void totals_of(struct accounts *accounts, const char *task, struct record_totals *ret_totals) {
    json_int_t runs = 0, wall_ms = 0, artifact_bytes = 0;
    records_totals(&accounts->records, task, ret_totals);
    json_unpack(json_object_get(accounts->unrecorded, task), "[I, I, I]", &runs, &wall_ms, &artifact_bytes);
    ret_totals->runs += runs;
    ret_totals->wall_ms += wall_ms;
    ret_totals->artifact_bytes += artifact_bytes;
}

/* "  3f2a... 12:01:05  error  0.3 s  x = 1": one line a run, the newest first. */
static json_t *history_of(struct accounts *accounts, const char *task) {
    const struct records_filter filter = {.task = task, .limit = HISTORY_RUNS};
    json_auto_t *runs = accounts->records.db ? records_list(&accounts->records, &filter) : NULL;
    json_t *lines = json_array();
    size_t i;
    json_t *run;
    json_array_foreach(runs, i, run) {
        const char *run_id = "", *started = "", *outcome = "", *summary = "";
        json_int_t wall_ms = 0;
        json_unpack(run, "{s:s, s:s, s:s, s:I, s:s}", "run_id", &run_id, "started", &started, "outcome", &outcome,
                    "wall_ms", &wall_ms, "summary", &summary);
        json_array_append_new(lines, text_format("  %.8s  %.19s  %-11s %6.1f s  %.60s", run_id, started, outcome,
                                                 (double)wall_ms / 1000, summary));
    }
    if (json_array_size(lines) > 0)
        json_array_insert_new(lines, 0, text_format("The last runs of task %s (petri runs --task %s):", task, task));
    return lines;
}

void budget_check(struct accounts *accounts, struct run *run) {
    struct record_totals totals;
    char used_text[32], most_text[32], why[256];
    if (run->asked.spec.task[0] == '\0')
        return;
    totals_of(accounts, run->asked.spec.task, &totals);
    add_under_way(run, &totals);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        int64_t used = *(const int64_t *)((const char *)&totals + counts[i].counted);
        int64_t most = run->asked.limits.values[counts[i].limit];
        enum limit_unit unit = limit_rows[counts[i].limit].unit;
        if (used < most)
            continue;
        snprintf(why, sizeof why, "task %.80s has used %s %s and its limit %s is %s", run->asked.spec.task,
                 limits_text(unit, used, used_text, sizeof used_text), counts[i].what, limit_rows[counts[i].limit].name,
                 limits_text(unit, most, most_text, sizeof most_text));
        run_set_outcome(run, OUTCOME_BUDGET, why);
        run->result.facts.history = history_of(accounts, run->asked.spec.task);
        return;
    }
}
