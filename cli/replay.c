/*
 * replay.c - converts two runs to the same form, and compares them member by member.
 *
 * The record was redacted when it was stored, so the new run is redacted with the
 * same redaction before the comparison; otherwise each secret would be a
 * difference. Members that differ between any two runs (ids, times, tracebacks
 * with names of temporary files) are left out.
 */

#include "replay.h"

#include "protocol/bytes.h"
#include "protocol/text.h"

#include <string.h>

static const char *text_or_empty(const json_t *json, const char *key) {
    const char *text = json_string_value(json_object_get(json, key));
    return text ? text : "";
}

/* The text of one stream in a record. */
static json_t *whole_stream(const json_t *record, const char *name) {
    auto_bytes text = {0};
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(record, "outputs"), i, row) {
        const json_t *piece = json_object_get(row, "text");
        if (strcmp(text_or_empty(row, "output_type"), "stream") == 0 && strcmp(text_or_empty(row, "name"), name) == 0)
            bytes_append(&text, json_string_value(piece), json_string_length(piece));
    }
    return text_to_json(text.data, text.n);
}

void replay_of_record(const json_t *record, struct replay_side *ret_side) {
    size_t i;
    json_t *row;
    *ret_side = (struct replay_side){.report = json_object_get(record, "report"),
                                     .stdout_text = whole_stream(record, "stdout"),
                                     .stderr_text = whole_stream(record, "stderr"),
                                     .result = json_null(),
                                     .displays = json_array(),
                                     .environment = json_incref(json_object_get(record, "environment"))};
    json_array_foreach(json_object_get(record, "outputs"), i, row) {
        json_t *data = json_object_get(row, "data");
        if (strcmp(text_or_empty(row, "output_type"), "execute_result") == 0 && json_object_get(data, "text/plain"))
            ret_side->result = json_incref(json_object_get(data, "text/plain"));
        else if (strcmp(text_or_empty(row, "output_type"), "display_data") == 0)
            json_array_append(ret_side->displays, data);
    }
}

void replay_of_report(const json_t *report, const struct redaction *redaction, struct replay_side *ret_side) {
    size_t count = 0;
    size_t i;
    json_t *display;
    const json_t *result = json_object_get(report, "result");
    *ret_side = (struct replay_side){
        .report = report,
        .stdout_text = redact_json(redaction, json_object_get(report, "stdout"), &count),
        .stderr_text = redact_json(redaction, json_object_get(report, "stderr"), &count),
        .result = result ? redact_json(redaction, result, &count) : json_null(),
        .displays = json_array(),
    };
    json_array_foreach(json_object_get(report, "displays"), i, display) {
        if (json_object_get(display, "petri")) /* a table of the kernel's, which is in no record */
            continue;
        json_array_append_new(ret_side->displays, redact_json(redaction, json_object_get(display, "data"), &count));
    }
}

void replay_side_fini(struct replay_side *side) {
    json_decref(side->stdout_text);
    json_decref(side->stderr_text);
    json_decref(side->result);
    json_decref(side->displays);
    json_decref(side->environment);
    *side = (struct replay_side){0};
}

/* Adds a row if the two values differ; NULL counts as null. name may be NULL. */
static void add_difference(json_t *rows, const char *what, const char *name, const json_t *before,
                           const json_t *after) {
    json_auto_t *null = json_null();
    json_t *old = before ? (json_t *)before : null;
    json_t *new = after ? (json_t *)after : null;
    if (!json_equal(old, new))
        json_array_append_new(
            rows, json_pack("{s:s, s:s*, s:O, s:O}", "what", what, "name", name, "before", old, "after", new));
}

/* Compares two objects member by member. */
static void compare_members(json_t *rows, const char *what, const json_t *before, const json_t *after) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)before, name, value) {
        add_difference(rows, what, name, value, json_object_get(after, name));
    }
    json_object_foreach((json_t *)after, name, value) {
        if (!json_object_get(before, name))
            add_difference(rows, what, name, NULL, value);
    }
}

/* {path: digest} for rows of files. */
static json_t *digests(const json_t *files) {
    json_t *all = json_object();
    size_t i;
    json_t *file;
    json_array_foreach(files, i, file) {
        const char *path = json_string_value(json_object_get(file, "path"));
        json_t *sha256 = json_object_get(file, "sha256");
        if (path)
            json_object_set(all, path, sha256 ? sha256 : json_object_get(file, "action"));
    }
    return all;
}

static void compare_files(json_t *rows, const char *what, const char *key, const struct replay_side *before,
                          const struct replay_side *after) {
    json_auto_t *old = digests(json_object_get(before->report, key));
    json_auto_t *new = digests(json_object_get(after->report, key));
    compare_members(rows, what, old, new);
}

/* Compares ename and evalue of an error; tracebacks have names of temporary files. */
static void compare_error(json_t *rows, const struct replay_side *before, const struct replay_side *after) {
    static const char *const keys[] = {"ename", "evalue"};
    const json_t *old = json_object_get(before->report, "error");
    const json_t *new = json_object_get(after->report, "error");
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        add_difference(rows, "error", keys[i], json_object_get(old, keys[i]), json_object_get(new, keys[i]));
}

static void compare_environment(json_t *rows, const struct replay_side *before, const struct replay_side *after) {
    static const struct {
        const char *what, *key;
    } parts[] = {
        {"package", "distributions"}, {"interpreter", "interpreter"}, {"linux", "linux"}, {"setting", "settings"}};
    const json_t *old = before->environment;
    const json_t *new = after->environment;
    if (!old || !new) {
        add_difference(rows, "environment", NULL, json_object_get(before->report, "environment_sha256"),
                       json_object_get(after->report, "environment_sha256"));
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        compare_members(rows, parts[i].what, json_object_get(old, parts[i].key), json_object_get(new, parts[i].key));
    add_difference(rows, "petri", NULL, json_object_get(old, "petri"), json_object_get(new, "petri"));
    add_difference(rows, "policy", NULL, json_object_get(old, "policy_sha256"), json_object_get(new, "policy_sha256"));
}

json_t *replay_compare(const struct replay_side *before, const struct replay_side *after) {
    json_t *rows = json_array();
    add_difference(rows, "outcome", NULL, json_object_get(before->report, "outcome"),
                   json_object_get(after->report, "outcome"));
    compare_error(rows, before, after);
    add_difference(rows, "stdout", NULL, before->stdout_text, after->stdout_text);
    add_difference(rows, "stderr", NULL, before->stderr_text, after->stderr_text);
    add_difference(rows, "result", NULL, before->result, after->result);
    add_difference(rows, "displays", NULL, before->displays, after->displays);
    compare_files(rows, "input", "inputs", before, after);
    compare_files(rows, "artifact", "artifacts", before, after);
    compare_environment(rows, before, after);
    return rows;
}
