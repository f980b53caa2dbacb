/*
 * execute.c - what is done for an execute_request before and after its cell, in the order that clients rely on.
 *
 * Before: the execution count, the size of the code, execute_input; then limits,
 * spec, budget and patterns, each of which can refuse the code; then the cache.
 * After: the error on iopub, the record, the reply. metadata.petri is read after
 * the code's first line (%%limits), so a limit in metadata.petri takes
 * precedence; the same ceilings hold for both.
 *
 * See: Jupyter messaging, "Execute".
 */

#include "execute.h"

#include "kernel/base/clock.h"
#include "kernel/base/digest.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/jupyter/reply.h"
#include "kernel/jupyter/usage.h"
#include "kernel/policy/limits_change.h"
#include "kernel/policy/limits_show.h"
#include "kernel/records/history.h"
#include "kernel/run/account.h"
#include "kernel/run/accounts.h"
#include "kernel/run/cache.h"
#include "kernel/run/missed.h"
#include "kernel/run/refuse.h"
#include "kernel/run/runner.h"
#include "kernel/run/stream.h"
#include "kernel/run/travel.h"
#include "kernel/run/travel_lines.h"

#include <stdio.h>
#include <string.h>

/* Nothing but white space: it runs nothing, so it takes no number, as in every notebook. */
static bool is_blank(const json_t *code) {
    const char *text = json_string_value(code);
    return text && strspn(text, " \t\r\n\v\f") == json_string_length(code);
}

static void read_request(struct run *run) {
    const struct request *request = run->request;
    run->asked.silent = request_bool(request, "silent", false);
    run->asked.counts = !run->asked.silent && request_bool(request, "store_history", true) &&
                        !is_blank(json_object_get(request->message.content, "code"));
    run->asked.allow_stdin = request_bool(request, "allow_stdin", true);
    run->asked.stop_on_error = request_bool(request, "stop_on_error", true);
}

/* Sets the outcome where the code may not run. */
static void check_code(struct run *run, const json_t *code) {
    char limit[32];
    char why[128];
    int64_t at_most = run->asked.limits.values[LIMIT_CODE];
    if (!json_is_string(code)) {
        run_set_outcome(run, OUTCOME_REFUSED, "the request has no code");
    } else if ((int64_t)json_string_length(code) > at_most) {
        snprintf(why, sizeof why, "its source is %zu bytes, over the limit of %s", json_string_length(code),
                 limits_text(UNIT_BYTES, at_most, limit, sizeof limit));
        run_set_outcome(run, OUTCOME_REFUSED, why);
    }
}

/*
 * Reads the limits in the code's first line, and then the spec, whose limits take
 * precedence. Returns the code to run, or NULL with an outcome.
 */
static json_t *spec_all(struct run *run, json_t *code, enum limits_line *ret_line) {
    struct error error;
    const struct runner *runner = run->runner;
    const struct limits_change change = {runner->profile, ASKER_CELL, &error};
    json_auto_t *rest = NULL;
    if (limits_change_code(&change, &run->asked.limits, code, &rest, ret_line) < 0) {
        run_set_outcome(run, OUTCOME_REFUSED, error.text);
        return NULL;
    }
    if (*ret_line == LIMITS_LINE_SESSION)
        run->asked.session_limits = run->asked.limits;
    account_begin(runner->accounts, run);
    if (*ret_line == LIMITS_LINE_SESSION && (run->beside || run->asked.spec.no_commit) &&
        run->result.outcome == OUTCOME_OK)
        run_set_outcome(run, OUTCOME_REFUSED,
                        "%limits sets the limits of the session, which a run that is not committed does not change; "
                        "begin it with %%limits to set those of this run");
    return run->result.outcome == OUTCOME_OK ? steal_pointer(rest) : NULL;
}

/* %limits alone: a table. */
static void show_limits(const struct run *run) {
    struct runner *runner = run->runner;
    struct limits limits = run->asked.limits;
    struct limits_used used = runner->used;
    uint64_t bytes, files;
    limits_resolve(&limits);
    if (runner->session) {
        session_measure_files(runner->session, &bytes, &files);
        used.session[LIMIT_DISK] = (int64_t)bytes;
        used.session[LIMIT_FILES] = (int64_t)files;
        used.session[LIMIT_MEMORY] = (int64_t)usage_memory_bytes();
    }
    json_t *data = limits_show(runner->profile, &limits, &used);
    if (data) /* no record has it, as no other run has its figures: petri replay leaves it out by the mark */
        iopub_publish(runner->jupyter, run->request->message.header, "display_data",
                      json_pack("{s:o, s:{}, s:{s:s}}", "data", data, "metadata", "transient", "petri", "limits"));
}

/* %limits with values: which the session has from now on. */
static void tell_session_limits(struct run *run) {
    const struct runner *runner = run->runner;
    char value[32], line[1024];
    size_t n = (size_t)snprintf(line, sizeof line, "From this cell on the session has");
    const size_t before = n;
    for (int i = 0; i < LIMIT_N; i++)
        if (run->asked.session_limits.values[i] != runner->limits.values[i])
            n += (size_t)snprintf(
                line + n, sizeof line - n, "%s %s %s", n > before ? "," : "", limit_rows[i].name,
                limits_text(limit_rows[i].unit, run->asked.session_limits.values[i], value, sizeof value));
    n += (size_t)snprintf(line + n, sizeof line - n, "%s.\n", n > before ? "" : " the limits that it had");
    stream_text(run, "stdout", line, n);
}

static void tell_limits(struct run *run, enum limits_line line) {
    if (run->asked.silent)
        return;
    if (line == LIMITS_LINE_SHOW)
        show_limits(run);
    else if (line == LIMITS_LINE_SESSION)
        tell_session_limits(run);
}

static int count_lines(const json_t *code) {
    const char *text = json_string_value(code), *end = text + json_string_length(code);
    int lines = 0;
    for (; text && (text = memchr(text, '\n', (size_t)(end - text))); text++)
        lines++;
    return lines;
}

/* Steals code. */
static json_t *make_frame(const struct config *config, const struct run *run, json_t *code) {
    json_t *expressions = json_object_get(run->request->message.content, "user_expressions");
    return json_pack("{s:s, s:O, s:I, s:o, s:b, s:b, s:o, s:b, s:i, s:O*, s:O*, s:O*, s:O*}", "type", "execute",
                     "header", run->request->message.header, "cell", (json_int_t)run->number, "code", code, "silent",
                     run->asked.silent, "store_history", run->asked.counts, "user_expressions",
                     json_is_object(expressions) ? json_incref(expressions) : json_object(), "allow_stdin",
                     run->asked.allow_stdin, "execution_count", run->asked.execution_count, "missed", run->asked.missed,
                     "stdin", run->asked.spec.stdin_text, "env", run->asked.spec.env, "refuse", refuse_modules(config));
}

/* A cell whose values can't be kept out of later records is not run, and its code is not recorded. */
static void note_variables(struct run *run) {
    char why[160];
    const json_t *code = run->asked.code;
    const int r =
        variables_read_code(&run->runner->accounts->variables, json_string_value(code), json_string_length(code));
    if (r == 0)
        return;
    snprintf(why, sizeof why,
             r == -ENOMEM
                 ? "there is no memory to keep the values of its %%env out of the records"
                 : "with its %%env there are more values than petri can keep out of its records (%d, or %d MiB); "
                   "restart the kernel, or set them with os.environ",
             VARIABLES_MAX, VARIABLES_BYTES_MAX >> 20);
    if (run->result.outcome == OUTCOME_OK)
        run_set_outcome(run, OUTCOME_REFUSED, why);
    json_decref(run->asked.code);
    run->asked.code = json_string("# not recorded: it has more values of variables than can be taken out");
}

static void begin_execute(struct run *run, json_t **ret_frame) {
    struct runner *runner = run->runner;
    json_t *code = json_object_get(run->request->message.content, "code");
    enum limits_line line = LIMITS_LINE_NONE;
    json_t *rest = NULL;
    read_request(run);
    const int last = travel_start(run);
    if (json_is_string(code)) {
        run->asked.code = json_incref(code);
        digest_bytes(json_string_value(code), json_string_length(code), run->asked.code_sha256);
        note_variables(run);
    }
    const bool goes = run->result.outcome == OUTCOME_OK && travel_is_line(code);
    const bool asks = run->result.outcome == OUTCOME_OK && travel_is_question(code);
    run->asked.execution_count = last + run->asked.counts;
    run->asked.shown_number = last + 1;
    run->asked.counts &= !goes && !asks;
    if (run->asked.counts && !run->branch)
        runner->execution_count++;
    if (run->result.outcome == OUTCOME_OK)
        check_code(run, code);
    if (!run->asked.silent && json_is_string(code))
        iopub_publish(runner->jupyter, run->request->message.header, "execute_input",
                      json_pack("{s:O, s:i}", "code", code, "execution_count", run->asked.execution_count));
    if (run->result.outcome == OUTCOME_OK)
        rest = spec_all(run, code, &line);
    if (asks && run->result.outcome == OUTCOME_OK)
        travel_question(run);
    if (run->result.outcome == OUTCOME_OK)
        refuse_check(runner->config, runner->refused, run, code);
    if (run->result.outcome == OUTCOME_OK && goes)
        travel_line(run, code);
    else if (run->result.outcome == OUTCOME_OK)
        cache_look(runner->accounts, run);
    if (run->result.outcome == OUTCOME_OK)
        tell_limits(run, line);
    if (run->asked.counts && !run->branch && run->asked.code)
        missed_add(&runner->missed, run->asked.execution_count, rest ? rest : code); /* until its image is kept */
    run->asked.skipped_lines = rest ? count_lines(code) - count_lines(rest) : 0;
    if (rest && run->result.outcome == OUTCOME_OK && !run->result.cached && !goes)
        *ret_frame = make_frame(runner->config, run, rest);
    else
        json_decref(rest);
}

/* The worker's reply, with the status that the kernel sets. */
static json_t *worker_content(const struct run *run) {
    json_t *content = json_copy(run->result.reply);
    json_object_set_new(content, "status", json_string(run->result.outcome == OUTCOME_OK ? "ok" : "error"));
    return content;
}

static json_t *reply_content(struct run *run) {
    json_t *content;
    if (run->result.rolled_back) {
        content = outcome_error(run->result.outcome, &run->result.facts);
        if (!run->asked.silent)
            iopub_publish(run->runner->jupyter, run->request->message.header, "error", json_copy(content));
        json_object_set_new(content, "status", json_string("error"));
    } else {
        content = worker_content(run);
    }
    if (run->result.outcome != OUTCOME_OK)
        run->result.error = json_incref(content);
    json_object_set_new(content, "execution_count", json_integer(run->asked.execution_count));
    json_auto_t *absent = json_pack("{s:{}, s:[]}", "user_expressions", "payload");
    json_object_update_missing(content, absent);
    return content;
}

/* Publishes one row of a record's outputs as a message. */
static void give_output(struct jupyter *jupyter, const struct run *run, json_t *row) {
    const json_t *parent = run->request->message.header;
    const char *type = json_string_value(json_object_get(row, "output_type"));
    json_t *content = json_copy(row);
    json_object_del(content, "output_type");
    if (json_object_get(content, "execution_count"))
        json_object_set_new(content, "execution_count", json_integer(run->asked.execution_count));
    if (type)
        iopub_publish(jupyter, parent, type, content);
    else
        json_decref(content);
}

/* Publishes the outputs of the cached record, and replies with its report. */
static void give_cached(struct jupyter *jupyter, struct run *run) {
    size_t i;
    json_t *row;
    json_t *report = json_copy(json_object_get(run->result.cached, "report"));
    json_array_foreach(json_object_get(run->result.cached, "outputs"), i, row) {
        give_output(jupyter, run, row);
    }
    json_object_set_new(report, "cached", json_true());
    json_object_set_new(report, "record", json_true());
    reply_send(jupyter, run->request, "execute_reply",
               json_pack("{s:s, s:o}", "started", run->started, "petri", report),
               json_pack("{s:s, s:i, s:{}, s:[]}", "status", "ok", "execution_count", run->asked.execution_count,
                         "user_expressions", "payload"));
}

/* What %limits shows of the session's last cell. */
static void note_used(const struct run *run) {
    struct runner *runner = run->runner;
    const struct run_result *result = &run->result;
    const struct cell_usage *usage = &result->facts.end.usage;
    int64_t *used = runner->used.cell;
    uint64_t artifacts = 0;
    size_t i;
    json_t *row;
    json_array_foreach(result->artifact_rows, i, row) {
        artifacts += (uint64_t)json_integer_value(json_object_get(row, "bytes"));
    }
    limits_used_clear(&runner->used);
    used[LIMIT_TIMEOUT] = (result->ended_us - run->started_us) / CLOCK_MS;
    used[LIMIT_CPU] = (int64_t)usage->cpu_us / CLOCK_MS;
    used[LIMIT_MEMORY] = (int64_t)usage->memory_peak_bytes;
    used[LIMIT_PROCESSES] = usage->processes_peak;
    used[LIMIT_OUTPUT] = (int64_t)(result->stdout_bytes + result->stderr_bytes);
    used[LIMIT_DISPLAYS] = run->now.displays.n;
    used[LIMIT_ARTIFACTS] = (int64_t)artifacts;
    used[LIMIT_CODE] = (int64_t)json_string_length(run->asked.code);
}

static void end_execute(struct run *run) {
    struct runner *runner = run->runner;
    if (run->result.cached) {
        give_cached(runner->jupyter, run);
        return;
    }
    json_t *content = reply_content(run);
    if (!run->asked.silent && !run->beside)
        note_used(run);
    /* Before the reply: so a run whose reply a client has got is in the records, even if the kernel is killed then. */
    json_t *report = account_end(runner->accounts, runner->session, run);
    json_t *metadata = json_pack("{s:s, s:o}", "started", run->started, "petri", report);
    reply_send(runner->jupyter, run->request, "execute_reply", metadata, content);
}

/* Also stores the code of a cell that was rolled back, so that the user can recall and correct it. */
static void after_execute(struct run *run) {
    struct runner *runner = run->runner;
    account_tidy(runner->accounts);
    if (run->asked.counts && run->asked.code)
        history_store(runner->history, run->asked.execution_count, run->asked.code);
}

const struct cell_kind execute_cell = {
    .has_reply = true, .begin = begin_execute, .end = end_execute, .after = after_execute};
