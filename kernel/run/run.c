/*
 * run.c - creates and destroys a run, sets its failure, and keeps the headers of the last runs.
 *
 * run_fail() does nothing outside of RUN_WORKS, so only the first failure counts,
 * and none that is found after the cell was frozen. The headers are a ring buffer
 * indexed by a run's number. Numbers don't repeat, so the number in a slot says
 * whether the slot holds that run.
 */

#include "run.h"

#include "kernel/base/clock.h"
#include "kernel/files/artifacts.h"
#include "kernel/files/inputs_read.h"
#include "kernel/files/writing.h"
#include "kernel/jupyter/route.h"
#include "protocol/text.h"

#include <stdio.h>

struct run *run_create(struct runner *runner, struct request *request, uint64_t number, const struct limits *limits) {
    struct run *run = calloc(1, sizeof *run);
    const bool beside = run_goes_beside(request);
    if (run)
        run->result.denied = json_array();
    if (!run || !run->result.denied || (beside && comms_init(&run->own_comms) < 0)) {
        if (run)
            json_decref(run->result.denied);
        free(run);
        request_destroy(request);
        return NULL;
    }
    run->runner = runner;
    run->beside = beside;
    run->branch = beside && spec_from(json_object_get(request->message.metadata, "petri"));
    run->request = request;
    run->number = number;
    validation_init(&run->now.validation, &run->asked.spec, &run->result.transcript);
    comparison_init(&run->now.comparison);
    exchange_init(&run->now.exchange);
    in_place_init(&run->now.in_place);
    run->now.deadline_us = CLOCK_NEVER;
    run->now.grace_us = CLOCK_NEVER;
    run->now.stack_us = CLOCK_NEVER;
    run->asked.limits = *limits;
    run->asked.session_limits = *limits;
    run->started_us = clock_us();
    clock_iso(run->started);
    message_new_id(run->run_id);
    return run;
}

void run_destroy(struct run *run) {
    if (!run)
        return;
    request_destroy(run->request);
    exchange_close(&run->now.exchange);
    cell_discard(run->now.cell);
    writing_destroy(run->now.writing);
    artifacts_destroy(run->now.artifacts);
    inputs_read_destroy(run->now.inputs_read);
    validation_fini(&run->now.validation);
    comparison_fini(&run->now.comparison);
    json_decref(run->now.question.unsent);
    json_decref(run->result.checks);
    json_decref(run->result.artifact_rows);
    json_decref(run->result.earlier_rows);
    spec_fini(&run->asked.spec);
    json_decref(run->result.inputs.rows);
    json_decref(run->result.cached);
    transcript_fini(&run->result.transcript);
    captures_fini(&run->now.captures);
    outputs_fini(&run->now.outputs);
    comms_fini(&run->own_comms);
    json_decref(run->own_files);
    json_decref(run->result.facts.history);
    json_decref(run->result.denied);
    json_decref(run->result.reply);
    json_decref(run->result.error);
    json_decref(run->asked.code);
    json_decref(run->asked.missed);
    free(run);
}

const struct cell_kind *run_kind(const struct run *run) {
    return run->request->route->cell;
}

bool run_goes_beside(const struct request *request) {
    return spec_goes_beside(json_object_get(request->message.metadata, "petri"));
}

bool run_brings_code(const struct run *run) {
    return run->asked.code || run->asked.spec.n_files > 0;
}

void run_set_outcome(struct run *run, enum outcome outcome, const char *detail) {
    run->result.outcome = outcome;
    run->result.rolled_back = outcome_row(outcome)->rolled_back;
    snprintf(run->result.facts.detail, sizeof run->result.facts.detail, "%s", detail);
}

void run_fail(struct run *run, enum outcome outcome) {
    if (run->now.phase != RUN_WORKS)
        return;
    run->now.phase = RUN_FAILED;
    run->result.outcome = outcome;
    run->result.rolled_back = true;
}

void run_fail_limit(struct run *run, enum outcome outcome, const struct profile *profile, enum limit limit) {
    struct outcome_facts *facts = &run->result.facts;
    const int64_t value = run->asked.limits.values[limit];
    limits_text(limit_rows[limit].unit, value, facts->limit, sizeof facts->limit);
    limits_more(profile, limit, value, facts->more, sizeof facts->more);
    run_fail(run, outcome);
}

void run_fail_memory(struct run *run, const struct cell_usage *usage, const struct profile *profile,
                     int64_t common_bytes) {
    struct outcome_facts *facts = &run->result.facts;
    if (!usage->over_common) {
        run_fail_limit(run, OUTCOME_MEMORY, profile, LIMIT_MEMORY);
        return;
    }
    limits_text(UNIT_BYTES, common_bytes, facts->limit, sizeof facts->limit);
    run_fail(run, OUTCOME_COMMON_MEMORY);
}

void run_fail_in_flight(struct run *run) {
    snprintf(run->result.facts.detail, sizeof run->result.facts.detail,
             "left more open files waiting in sockets than all programs of a user may have there together");
    run_fail(run, OUTCOME_CRASH);
}

void run_parents_note(struct run_parents *parents, uint64_t number, json_t *header) {
    size_t slot = number % RUN_PARENTS;
    json_decref(parents->of[slot].header);
    parents->of[slot].number = number;
    parents->of[slot].header = text_memory(header) <= RUN_PARENT_BYTES ? json_incref(header) : NULL;
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
