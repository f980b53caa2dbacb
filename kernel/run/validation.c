/*
 * validation.c - the checks in order, one cell at a time.
 *
 * Each check starts from image 0, because the run's own image has the run's code
 * in it, which could answer in the check's place. A check without an answer
 * (time, memory, its process died) has failed, and says why. Its main limit of
 * time is CPU time: on a busy machine a short wall-clock limit would fail checks
 * that are not slow.
 */

#include "validation.h"

#include "kernel/base/clock.h"
#include "kernel/base/filename.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/policy/spec.h"
#include "kernel/worker/transcript.h"
#include "protocol/text.h"

#include <inttypes.h>
#include <string.h>

enum {
    MAX_FRAME_BYTES = 1 << 20,
    CPU_MS = 5000,   /* of one check; loading a validator takes a fraction of a second */
    WALL_MS = 30000, /* of one check, on a busy machine */
};

/* Of one check; they don't depend on the run's limits. */
static const struct limits limits_of_check = {
    .values = {[LIMIT_MEMORY] = INT64_C(512) << 20, [LIMIT_CPU] = CPU_MS, [LIMIT_PROCESSES] = 16, [LIMIT_CPUS] = 1}};

static json_t *stdout_frame(const struct validation *validation) {
    if (!validation->spec->stdout_regex)
        return NULL;
    return json_pack("{s:s, s:s, s:O, s:o}", "type", "check", "what", "stdout_regex", "pattern",
                     validation->spec->stdout_regex, "text", transcript_text(validation->transcript, OUTPUT_STDOUT));
}

static const char *result_problem(const struct validation *validation) {
    return validation->transcript->result_cut ? "the result was too large to be kept" : NULL;
}

static json_t *result_frame(const struct validation *validation) {
    if (!validation->spec->result_json_schema)
        return NULL;
    return json_pack("{s:s, s:s, s:O, s:O?}", "type", "check", "what", "result_json_schema", "schema",
                     validation->spec->result_json_schema, "data", validation->transcript->result);
}

/*
 * The checks that need a cell. frame: the request, or NULL where the client
 * does not ask for the check. problem: why the check can't be made, or NULL.
 */
static const struct {
    const char *name;
    json_t *(*frame)(const struct validation *validation);
    const char *(*problem)(const struct validation *validation);
} checks[] = {
    {"stdout_regex", stdout_frame, NULL},
    {"result_json_schema", result_frame, result_problem},
};
enum { N_CHECKS = sizeof checks / sizeof checks[0] };

void validation_init(struct validation *validation, const struct spec *spec, const struct transcript *transcript) {
    *validation = (struct validation){.spec = spec, .transcript = transcript};
    exchange_init(&validation->exchange);
}

static void end_cell(struct validation *validation) {
    exchange_close(&validation->exchange);
    cell_discard(steal_pointer(validation->cell));
}

void validation_fini(struct validation *validation) {
    end_cell(validation);
    json_decref(steal_pointer(validation->rows));
}

static void add_check(struct validation *validation, const char *check, bool ok, const char *detail) {
    if (!validation->rows)
        validation->rows = json_array();
    json_array_append_new(validation->rows,
                          json_pack("{s:s, s:b, s:o}", "check", check, "ok", ok, "detail", text_format("%s", detail)));
}

static const json_t *find_artifact(const json_t *artifact_rows, const char *path) {
    size_t i;
    const json_t *row;
    json_array_foreach(artifact_rows, i, row) {
        const char *found = json_string_value(json_object_get(row, "path"));
        if (found && strcmp(found, path) == 0)
            return row;
    }
    return NULL;
}

static void check_artifact(struct validation *validation, const struct spec_expected *expected,
                           const json_t *artifact_rows) {
    char name[FILENAME_PATH_BYTES + 16], detail[512];
    const json_t *row = find_artifact(artifact_rows, expected->path);
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
    add_check(validation, name, there && is_type && fits && (!refused || strcmp(refused, "copying is off") == 0),
              detail);
}

static void check_artifacts(struct validation *validation, const json_t *artifact_rows) {
    for (size_t i = 0; i < validation->spec->n_expected; i++)
        check_artifact(validation, &validation->spec->expected[i], artifact_rows);
}

bool validation_has_cell(const struct validation *validation) {
    return validation->cell != NULL;
}

bool validation_wants_cell(const struct validation *validation) {
    return validation->next < N_CHECKS && (validation->spec->result_json_schema || validation->spec->stdout_regex);
}

void validation_cancel(struct validation *validation, const char *why) {
    end_cell(validation);
    for (; validation->next < N_CHECKS; validation->next++) {
        json_auto_t *frame = checks[validation->next].frame(validation);
        if (frame)
            add_check(validation, checks[validation->next].name, false, why);
    }
}

/* Nothing was looked at. */
static void fail_all(struct validation *validation, const char *why) {
    char name[FILENAME_PATH_BYTES + 16];
    for (size_t i = 0; i < validation->spec->n_expected; i++) {
        snprintf(name, sizeof name, "artifact %s", validation->spec->expected[i].path);
        add_check(validation, name, false, why);
    }
    validation_cancel(validation, why);
}

json_t *validation_end(struct validation *validation, const char *why) {
    if (!validation->rows)
        fail_all(validation, why);
    return steal_pointer(validation->rows);
}

static void start_check(struct validation *validation, struct session *session, json_t *frame) {
    const struct cell_options options = {.source = CELL_FROM_FIRST, .role = CELL_EPHEMERAL};
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
        end_cell(validation);
        add_check(validation, checks[validation->next++].name, false, error.text);
    }
}

/* Adds the row of the check that runs, and discards its cell. */
static void end_check(struct validation *validation, bool ok, const char *detail) {
    char text[512];
    bool cut = validation->next == 0 && validation->transcript->kept_bytes[OUTPUT_STDOUT] == TRANSCRIPT_STREAM_BYTES;
    snprintf(text, sizeof text, "%s%s", detail, cut ? " (in the first 1 MiB of the output)" : "");
    add_check(validation, checks[validation->next++].name, ok, text);
    end_cell(validation);
}

static void take_check_reply(struct validation *validation) {
    const json_t *reply = validation->exchange.reply;
    const json_t *ok = json_object_get(reply, "ok");
    const char *detail = json_string_value(json_object_get(reply, "detail"));
    if (json_is_boolean(ok) && detail)
        end_check(validation, json_is_true(ok), detail);
    else
        end_check(validation, false, "the check failed");
}

/* Why a check has no answer. */
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

/* Advances the check that runs. */
static void step_check(struct validation *validation, int64_t now_us) {
    struct exchange *exchange = &validation->exchange;
    exchange_tick(exchange, now_us);
    if (exchange->state == EXCHANGE_DONE)
        take_check_reply(validation);
    else if (exchange_has_ended(exchange))
        end_check(validation, false, why_lost(exchange->state));
}

bool validation_step(struct validation *validation, struct session *session, const json_t *artifact_rows,
                     int64_t now_us) {
    if (validation->next == 0 && !validation->cell && !validation->rows)
        check_artifacts(validation, artifact_rows);
    step_check(validation, now_us);
    while (!validation->cell && validation->next < N_CHECKS) {
        size_t i = validation->next;
        json_auto_t *frame = checks[i].frame(validation);
        const char *problem = frame && checks[i].problem ? checks[i].problem(validation) : NULL;
        if (frame && !problem) {
            start_check(validation, session, frame);
            continue;
        }
        if (problem)
            add_check(validation, checks[i].name, false, problem);
        validation->next++;
    }
    return validation->next == N_CHECKS;
}

void validation_watch(struct validation *validation, struct poll_set *set) {
    exchange_watch(&validation->exchange, set);
}
