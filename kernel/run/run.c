#include "run.h"

#include "kernel/base/clock.h"
#include "kernel/files/artifacts.h"
#include "kernel/files/inputs_read.h"
#include "kernel/files/writing.h"
#include "kernel/jupyter/route.h"

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
    json_decref(run->inputs.rows);
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
    return run->request->route->cell;
}

bool run_brings_code(const struct run *run) {
    return run->code || run->ask.n_files > 0;
}

void run_set_outcome(struct run *run, enum outcome outcome, const char *detail) {
    run->outcome = outcome;
    run->rolled_back = outcome_row(outcome)->rolled_back;
    snprintf(run->facts.detail, sizeof run->facts.detail, "%s", detail);
}

void run_fail(struct run *run, enum outcome outcome) {
    if (run->phase != RUN_WORKS)
        return;
    run->phase = RUN_FAILED;
    run->outcome = outcome;
    run->rolled_back = true;
}

void run_fail_in_flight(struct run *run) {
    snprintf(run->facts.detail, sizeof run->facts.detail,
             "left more open files waiting in sockets than all programs of a user may have there together");
    run_fail(run, OUTCOME_CRASH);
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
