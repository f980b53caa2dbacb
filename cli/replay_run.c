/*
 * replay_run.c - one recorded run that is run again: its request, its kernel, and what differs.
 *
 * A run is only replayed if nothing was redacted in its code, request and files.
 * It has the limits that were in force, no task, and no cache.
 */

#include "replay_run.h"

#include "cli/options.h"
#include "cli/replay.h"
#include "cli/replay_place.h"
#include "kernel/base/terminal.h"
#include "kernel/policy/config.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

enum { VALUE_BYTES = 200 }; /* shown of a value that differs */

/* The profile's name; NULL where the record has none. That the configuration has it client_start() checks. */
static const char *profile_of(const json_t *run) {
    const char *name = json_string_value(json_object_get(json_object_get(run, "report"), "profile"));
    return name && profile_is_name(name) ? name : NULL;
}

const char *replay_refusal(const json_t *run) {
    const json_t *redacted = json_object_get(run, "redacted");
    size_t i;
    json_t *file;
    if (json_object_get(run, "message"))
        return "it was a message, to a widget say, and has no code that could be run again";
    if (json_integer_value(json_object_get(redacted, "code")) > 0)
        return "its code had secrets in it, which were not stored";
    if (json_integer_value(json_object_get(redacted, "request")) > 0)
        return "its standard input or variables had secrets in them, which were not stored";
    if (!json_is_object(json_object_get(run, "request")) || profile_of(run) == NULL)
        return "its record is not as petri writes them";
    json_array_foreach(json_object_get(run, "files"), i, file) {
        if (!json_is_true(json_object_get(file, "kept")))
            return "a file that it was given was too large to be kept, or had secrets in it";
    }
    return NULL;
}

/* One row of metadata.petri.files; NULL where the content is not stored. */
static json_t *file_row(struct records *records, const json_t *file) {
    auto_free void *data = NULL;
    size_t bytes = 0;
    const char *sha256 = json_string_value(json_object_get(file, "sha256"));
    if (!sha256 || records_find_input(records, sha256, &data, &bytes) <= 0)
        return NULL;
    size_t size = sodium_base64_encoded_len(bytes, sodium_base64_VARIANT_ORIGINAL);
    auto_free char *base64 = malloc(size);
    if (!base64)
        return NULL;
    sodium_bin2base64(base64, size, data, bytes, sodium_base64_VARIANT_ORIGINAL);
    return json_pack("{s:O, s:s}", "path", json_object_get(file, "path"), "data", base64);
}

static json_t *read_files(struct records *records, const json_t *run) {
    json_t *files = json_array();
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(run, "files"), i, file) {
        if (json_array_append_new(files, file_row(records, file)) < 0) {
            json_decref(files);
            return NULL;
        }
    }
    return files;
}

/* The limits that were in force, as a request asks for them, without those that only hold for a session. */
static json_t *limits_to_ask(const json_t *run) {
    const json_t *recorded = json_object_get(json_object_get(run, "report"), "limits");
    json_t *limits = json_object();
    for (int i = 0; i < LIMIT_N; i++) {
        char key[48];
        const struct limit_row *row = &limit_rows[i];
        json_t *value = json_object_get(recorded, limits_key((enum limit)i, key, sizeof key));
        if (value && !row->of_session && !row->tightens)
            json_object_set(limits, row->name, value);
    }
    return limits;
}

json_t *replay_request(struct records *records, const json_t *run) {
    json_auto_t *files = read_files(records, run);
    json_auto_t *request = json_copy(json_object_get(run, "request"));
    if (!files || !request)
        return NULL;
    json_object_del(request, "task");
    json_object_set_new(request, "cache", json_false());
    json_object_set_new(request, "limits", limits_to_ask(run));
    if (json_array_size(files) > 0)
        json_object_set(request, "files", files);
    return json_incref(request);
}

int replay_start(const struct arguments *arguments, const json_t *run, struct client **ret_client,
                 struct error *ret_error) {
    const struct replay_named named = {.folder = arguments->values[OPTION_FOLDER],
                                       .python = arguments->values[OPTION_PYTHON]};
    struct client_options options = {
        .profile = profile_of(run), .config = arguments->values[OPTION_CONFIG], .artifacts = ""};
    if (replay_enter(&named, run, &options.python, ret_error) < 0)
        return -ENOTDIR;
    return client_start(&options, ret_client, ret_error);
}

/* What the record was probably redacted with: the configuration's. */
static void redaction_of(const struct arguments *arguments, struct patterns **ret_patterns,
                         struct variables *variables) {
    struct config config;
    *ret_patterns = NULL;
    if (config_load(arguments->values[OPTION_CONFIG], NULL, &config, NULL) < 0)
        return;
    json_auto_t *values = config_variables(&config);
    if (patterns_create(config.redact, ret_patterns) < 0 || variables_add_all(variables, values) < 0)
        terminal_complain("There is no memory to redact with: what was redacted shows as a difference.");
    config_fini(&config);
}

json_t *replay_differences(const struct arguments *arguments, struct records *records, const json_t *run,
                           const json_t *report) {
    struct replay_side before, after;
    json_auto_t *again = NULL;
    const char *run_id = json_string_value(json_object_get(report, "run_id"));
    struct patterns *patterns;
    struct variables variables = {0};
    redaction_of(arguments, &patterns, &variables);
    replay_of_record(run, &before);
    replay_of_report(report, &(struct redaction){patterns, &variables}, &after);
    if (run_id && records_find(records, run_id, &again) > 0)
        after.environment = json_incref(json_object_get(again, "environment"));
    json_t *differences = replay_compare(&before, &after);
    replay_side_fini(&before);
    replay_side_fini(&after);
    patterns_destroy(patterns);
    variables_fini(&variables);
    return differences;
}

static void put_value(const char *title, const json_t *value) {
    auto_free char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    terminal_print("    %s ", title);
    terminal_put(text ? text : "?", VALUE_BYTES);
    terminal_print("\n");
}

void replay_put_differences(const json_t *differences) {
    size_t i;
    json_t *row;
    json_array_foreach(differences, i, row) {
        const char *name = json_string_value(json_object_get(row, "name"));
        terminal_print("%s%s", json_string_value(json_object_get(row, "what")), name ? " " : "");
        terminal_put(name ? name : "", VALUE_BYTES);
        terminal_print(" differs\n");
        put_value("before", json_object_get(row, "before"));
        put_value("after ", json_object_get(row, "after"));
    }
}
