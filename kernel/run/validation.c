/*
 * validation.c - the checks in order, one cell at a time.
 *
 * Each check begins from image 0, for the run's own image holds code of the run,
 * which could answer in its place. A check that has no answer (time, memory, a
 * death) has failed, with that as the reason. Time is CPU time first: on a busy
 * machine the clock alone would be unjust.
 */

#include "validation.h"

#include "kernel/base/clock.h"
#include "kernel/base/filename.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/run/run.h"
#include "protocol/text.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_FRAME_BYTES = 1 << 20,
    CPU_MS = 5000,   /* of one check; to load a validator takes a fraction of a second */
    WALL_MS = 30000, /* the same on a machine that is busy */
};

/* Of one check, whatever the run's own are. */
static const struct limits limits_of_check = {
    .values = {[LIMIT_MEMORY] = INT64_C(512) << 20, [LIMIT_CPU] = CPU_MS, [LIMIT_PROCESSES] = 16, [LIMIT_CPUS] = 1}};

static json_t *stdout_frame(const struct run *run) {
    if (!run->asked.spec.stdout_regex)
        return NULL;
    return json_pack("{s:s, s:s, s:O, s:o}", "type", "check", "what", "stdout_regex", "pattern",
                     run->asked.spec.stdout_regex, "text", transcript_text(&run->result.transcript, OUTPUT_STDOUT));
}

static const char *result_problem(const struct run *run) {
    return run->result.transcript.result_cut ? "the result was too large to be kept" : NULL;
}

static json_t *result_frame(const struct run *run) {
    if (!run->asked.spec.result_json_schema)
        return NULL;
    return json_pack("{s:s, s:s, s:O, s:O?}", "type", "check", "what", "result_json_schema", "schema",
                     run->asked.spec.result_json_schema, "data", run->result.transcript.result);
}

/* The checks that need a cell; frame is NULL where nothing is expected. problem: why there is nothing to look at. */
static const struct {
    const char *name;
    json_t *(*frame)(const struct run *run);
    const char *(*problem)(const struct run *run);
} checks[] = {
    {"stdout_regex", stdout_frame, NULL},
    {"result_json_schema", result_frame, result_problem},
};
enum { N_CHECKS = sizeof checks / sizeof checks[0] };

void validation_init(struct validation *validation) {
    *validation = (struct validation){0};
    exchange_init(&validation->exchange);
}

void validation_fini(struct validation *validation) {
    exchange_close(&validation->exchange);
    cell_discard(steal_pointer(validation->cell));
}

static void add_check(struct run *run, const char *check, bool ok, const char *detail) {
    if (!run->result.checks)
        run->result.checks = json_array();
    json_array_append_new(run->result.checks,
                          json_pack("{s:s, s:b, s:o}", "check", check, "ok", ok, "detail", text_format("%s", detail)));
}

static const json_t *find_artifact(const struct run *run, const char *path) {
    size_t i;
    const json_t *row;
    json_array_foreach(run->result.artifact_rows, i, row) {
        const char *found = json_string_value(json_object_get(row, "path"));
        if (found && strcmp(found, path) == 0)
            return row;
    }
    return NULL;
}

static void check_artifact(struct run *run, const struct spec_expected *expected) {
    char name[FILENAME_PATH_BYTES + 16], detail[512];
    const json_t *row = find_artifact(run, expected->path);
    const char *mime = json_string_value(json_object_get(row, "mime"));
    const char *refused = json_string_value(json_object_get(row, "refused"));
    json_int_t bytes = json_integer_value(json_object_get(row, "bytes"));
    bool there = json_object_get(row, "bytes") != NULL;
    bool fits = expected->max_bytes < 0 || bytes <= expected->max_bytes;
    bool is_type = !expected->mime || (mime && strcmp(mime, expected->mime) == 0);
    if (!there)
        snprintf(detail, sizeof detail, "%s", row ? "it is no plain file any more" : "the cell has not made it");
    else if (!is_type)
        snprintf(detail, sizeof detail, "it is %s and not %s", mime ? mime : "of no known type", expected->mime);
    else if (!fits)
        snprintf(detail, sizeof detail, "its %" PRId64 " bytes are more than %" PRId64, (int64_t)bytes,
                 expected->max_bytes);
    else if (refused)
        snprintf(detail, sizeof detail, "it was not copied: %s", refused);
    else
        snprintf(detail, sizeof detail, "%s, %" PRId64 " bytes", mime ? mime : "", (int64_t)bytes);
    snprintf(name, sizeof name, "artifact %s", expected->path);
    add_check(run, name, there && is_type && fits && (!refused || strcmp(refused, "copying is off") == 0), detail);
}

static void check_artifacts(struct run *run) {
    for (size_t i = 0; i < run->asked.spec.n_expected; i++)
        check_artifact(run, &run->asked.spec.expected[i]);
}

void validation_cancel(struct run *run, const char *why) {
    struct validation *validation = &run->now.validation;
    validation_fini(validation);
    for (; validation->next < N_CHECKS; validation->next++) {
        json_auto_t *frame = checks[validation->next].frame(run);
        if (frame)
            add_check(run, checks[validation->next].name, false, why);
    }
}

void validation_fail(struct run *run, const char *why) {
    char name[FILENAME_PATH_BYTES + 16];
    for (size_t i = 0; i < run->asked.spec.n_expected; i++) {
        snprintf(name, sizeof name, "artifact %s", run->asked.spec.expected[i].path);
        add_check(run, name, false, why);
    }
    validation_cancel(run, why);
}

static void start_check(struct session *session, struct run *run, json_t *frame) {
    struct validation *validation = &run->now.validation;
    const struct cell_options options = {.source = CELL_FROM_FIRST, .aside = true};
    const struct exchange_options exchange = {.max_frame_bytes = MAX_FRAME_BYTES,
                                              .due_us = clock_us() + WALL_MS * CLOCK_MS,
                                              .limits = &limits_of_check,
                                              .is_watched = session_is_watched(session)};
    struct error cause = {0};
    struct error error;
    int r = cell_create(session, &options, &validation->cell, &cause);
    if (r < 0)
        error_set_sandbox(&error, r, &cause);
    else if ((r = exchange_start(&validation->exchange, validation->cell, frame, &exchange)) < 0)
        error_set(&error, -r, "the check could not be started");
    if (r < 0) {
        validation_fini(validation);
        add_check(run, checks[validation->next++].name, false, error.text);
    }
}

/* The check that runs is over. */
static void end_check(struct run *run, bool ok, const char *detail) {
    char text[512];
    bool cut =
        run->now.validation.next == 0 && run->result.transcript.kept_bytes[OUTPUT_STDOUT] == TRANSCRIPT_STREAM_BYTES;
    snprintf(text, sizeof text, "%s%s", detail, cut ? " (in the first 1 MiB of the output)" : "");
    add_check(run, checks[run->now.validation.next++].name, ok, text);
    validation_fini(&run->now.validation);
}

static void take_check_reply(struct run *run) {
    const json_t *reply = run->now.validation.exchange.reply;
    const json_t *ok = json_object_get(reply, "ok");
    const char *detail = json_string_value(json_object_get(reply, "detail"));
    if (json_is_boolean(ok) && detail)
        end_check(run, json_is_true(ok), detail);
    else
        end_check(run, false, "the check failed");
}

/* Why a check has no answer. What it has used decides, and on a busy machine, in the end, the clock. */
static const char *why_lost(enum exchange_state state) {
    switch (state) {
    case EXCHANGE_DIED:
        return "the check ended early";
    case EXCHANGE_OVER_MEMORY:
        return "it took too much memory";
    case EXCHANGE_OVER_CPU:
    case EXCHANGE_LATE:
        return "timed out";
    case EXCHANGE_CLOSED:
    case EXCHANGE_OPEN:
    case EXCHANGE_DONE:
    case EXCHANGE_BROKEN:
    case EXCHANGE_OVER_IN_FLIGHT:
    case EXCHANGE_REPLACED:
        break;
    }
    return "the check failed";
}

/* Takes the check that runs on. */
static void step_check(struct run *run, int64_t now_us) {
    struct exchange *exchange = &run->now.validation.exchange;
    exchange_tick(exchange, now_us);
    if (exchange->state == EXCHANGE_DONE)
        take_check_reply(run);
    else if (exchange_has_ended(exchange))
        end_check(run, false, why_lost(exchange->state));
}

bool validation_step(struct session *session, struct run *run, int64_t now_us) {
    struct validation *validation = &run->now.validation;
    if (validation->next == 0 && !validation->cell && !run->result.checks)
        check_artifacts(run);
    step_check(run, now_us);
    while (!validation->cell && validation->next < N_CHECKS) {
        size_t i = validation->next;
        json_auto_t *frame = checks[i].frame(run);
        const char *problem = frame && checks[i].problem ? checks[i].problem(run) : NULL;
        if (frame && !problem) {
            start_check(session, run, frame);
            continue;
        }
        if (problem)
            add_check(run, checks[i].name, false, problem);
        validation->next++;
    }
    return validation->next == N_CHECKS;
}

void validation_watch(struct validation *validation, struct poll_set *set) {
    exchange_watch(&validation->exchange, set);
}
