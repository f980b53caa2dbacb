/*
 * records_command.c - `petri runs` and `petri show RUN`.
 *
 * Another program may have changed a record: the two members that the commands
 * need are checked, all other fields may be missing, and everything is written
 * with kernel/base/terminal.h.
 */

#include "records_command.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "kernel/base/terminal.h"
#include "kernel/policy/config.h"
#include "protocol/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_RUNS_SHOWN = 20, RUNS_MAX = 1000000, COLUMN_BYTES = 1000 };

static const struct log terminal_log = {.level = LOG_LEVEL_WARNING};

static int fail_with(const char *why) {
    terminal_complain("%s", why);
    return -EINVAL;
}

int records_command_open(const struct arguments *arguments, struct records *ret_records) {
    struct config config;
    char path[PATH_MAX];
    struct error error;
    if (config_load(arguments->values[OPTION_CONFIG], NULL, &config, &error) < 0)
        return fail_with(error.text);
    int r = 0;
    if (config.records.path[0])
        memcpy(path, config.records.path, sizeof path);
    else
        r = records_default_path(path, sizeof path);
    bool on = config.records.on;
    config_fini(&config);
    if (!on)
        return fail_with("the configuration has \"records\": false, so no runs are recorded");
    if (r < 0)
        return fail_with("there is no home, and so there are no run records");
    r = records_open_existing(ret_records, path, &terminal_log, &error);
    if (r < 0)
        fail_with(error.text);
    return r;
}

/* Whether a record has the members that every command here needs. */
static bool is_record(const json_t *run) {
    return json_is_object(json_object_get(run, "report")) && json_is_string(json_object_get(run, "code"));
}

static int find_run(struct records *records, const char *name, json_t **ret_run) {
    json_auto_t *run = NULL;
    int r = records_find(records, name, &run);
    if (r > 0 && is_record(run)) {
        *ret_run = json_incref(run);
        return 0;
    }
    r = r > 0 ? -EBADMSG : r;
    if (r == 0)
        terminal_complain("there is no run %s; petri runs lists them", name);
    else if (r == -ENOTUNIQ)
        terminal_complain("there are several runs whose id begins with %s; give more of it", name);
    else
        terminal_complain("run %s can't be read: %s", name,
                          r == -EBADMSG ? "it is not stored as petri stores records" : "the database is damaged");
    return r == 0 ? -ENOENT : r;
}

int records_command_find(const struct arguments *arguments, struct records *ret_records, json_t **ret_run) {
    int r = records_command_open(arguments, ret_records);
    if (r < 0)
        return r;
    r = find_run(ret_records, arguments->operands[0], ret_run);
    if (r < 0)
        records_close(ret_records);
    return r;
}

static void put_plain(const char *text) {
    terminal_put(text, SIZE_MAX);
}

/* Writes at most so many bytes of a text, COLUMN_BYTES or fewer, and spaces up to the next column. */
static void put_column(const char *text, int most, int wide) {
    char part[COLUMN_BYTES + 1];
    int n = snprintf(part, sizeof part, "%.*s", (int)most, text);
    terminal_put_line(part);
    terminal_print("%*s", n < wide ? wide - n : 1, "");
}

static void print_run(const json_t *run) {
    const char *run_id = "", *started = "", *outcome = "", *task = "", *summary = "";
    json_int_t wall_ms = 0;
    json_unpack((json_t *)run, "{s:s, s:s, s:s, s:s, s:s, s:I}", "run_id", &run_id, "started", &started, "outcome",
                &outcome, "task", &task, "summary", &summary, "wall_ms", &wall_ms);
    put_column(run_id, 8, 10);
    put_column(started, 10, 11);
    put_column(strlen(started) > 11 ? started + 11 : "", 8, 10);
    put_column(outcome, COLUMN_BYTES, 13);
    terminal_print("%8.1f s  ", (double)wall_ms / 1000);
    put_column(task, COLUMN_BYTES, 14);
    terminal_put_line(summary);
    terminal_print("\n");
}

static int print_runs(const json_t *runs) {
    size_t i;
    json_t *run;
    terminal_print("%-8s  %-19s  %-11s  %10s  %-12s  %s\n", "run", "started (UTC)", "outcome", "time", "task", "code");
    json_array_foreach(runs, i, run) {
        print_run(run);
    }
    return 0;
}

/* Parses a number of runs; 0 where text is not a number above 0. */
static int64_t parse_count(const char *text) {
    char *end;
    if (!text)
        return LIMIT_RUNS_SHOWN;
    long long count = strtoll(text, &end, 10);
    return *end == '\0' && count > 0 && count <= RUNS_MAX ? count : 0;
}

int command_runs(const struct arguments *arguments) {
    struct records records;
    const struct records_filter filter = {.task = arguments->values[OPTION_TASK],
                                          .outcome = arguments->values[OPTION_OUTCOME],
                                          .limit = parse_count(arguments->values[OPTION_LIMIT])};
    if (filter.limit == 0) {
        fail_with("--limit needs a whole number above 0");
        return EXIT_USAGE;
    }
    if (records_command_open(arguments, &records) < 0)
        return EXIT_USAGE;
    json_auto_t *runs = records_list(&records, &filter);
    records_close(&records);
    if (!runs) {
        fail_with("the run records can't be read");
        return EXIT_FAILURE;
    }
    return arguments->values[OPTION_JSON] ? terminal_put_json(runs) : print_runs(runs);
}

static double number_of(const json_t *json, const char *key) {
    return json_number_value(json_object_get(json, key));
}

/* Writes a row of outputs as text. */
static void print_output(const json_t *row) {
    const char *text = text_in(row, "text");
    const char *ename = text_in(row, "ename");
    const char *plain = text_in(json_object_get(row, "data"), "text/plain");
    put_plain(text[0] ? text : ename[0] ? ename : plain[0] ? plain : text_in(row, "output_type"));
    if (ename[0] && !text[0]) {
        terminal_print(": ");
        put_plain(text_in(row, "evalue"));
    }
    if (text[0] == '\0' || text[strlen(text) - 1] != '\n')
        terminal_print("\n");
}

static void put_line(const char *title, const char *text, const char *after) {
    terminal_print("%-13s", title);
    terminal_put_line(text);
    terminal_print("%s\n", after);
}

static void print_head(const json_t *run) {
    const json_t *report = json_object_get(run, "report");
    const json_t *metrics = json_object_get(report, "metrics");
    const json_t *error = json_object_get(report, "error");
    put_line("run", text_in(report, "run_id"), "");
    put_line("outcome", text_in(report, "outcome"),
             json_is_true(json_object_get(report, "rolled_back")) ? ", rolled back" : "");
    if (json_is_object(error)) {
        terminal_print("%-13s", "error");
        terminal_put_line(text_in(error, "ename"));
        terminal_print(": ");
        put_plain(text_in(error, "evalue"));
        terminal_print("\n");
    }
    put_line("task", text_in(report, "task"), "");
    put_line("profile", text_in(report, "profile"), "");
    terminal_print("time         %.1f ms wall, %.1f ms CPU\n", number_of(metrics, "wall_ms"),
                   number_of(metrics, "cpu_ms"));
    terminal_print("memory       %.1f MiB at most\n", number_of(metrics, "max_memory_bytes") / (1 << 20));
    put_line("environment", text_in(report, "environment_sha256"), "");
}

static void print_files(const char *title, const json_t *files) {
    size_t i;
    json_t *file;
    if (json_array_size(files) > 0)
        terminal_print("\n%s\n", title);
    json_array_foreach(files, i, file) {
        terminal_print("  %12.0f bytes  ", number_of(file, "bytes"));
        put_column(text_in(file, "sha256"), 12, 14);
        terminal_put_line(text_in(file, "path"));
        terminal_print("\n");
    }
}

/* Writes the code, or the message of a widget. */
static void print_request(const json_t *run) {
    const json_t *message = json_object_get(run, "message");
    terminal_print("\n%s\n", message ? "message" : "code");
    put_plain(text_in(message ? message : run, message ? "msg_type" : "code"));
    terminal_print("\n");
    if (!message)
        return;
    auto_free char *content = json_dumps(json_object_get(message, "content"), JSON_COMPACT | JSON_ENCODE_ANY);
    put_plain(content ? content : "(too large to be kept)");
    terminal_print("\n");
}

static int print_whole(const json_t *run) {
    const json_t *outputs = json_object_get(run, "outputs");
    size_t i;
    json_t *row;
    print_head(run);
    print_files("inputs", json_object_get(run, "files"));
    print_files("artifacts", json_object_get(json_object_get(run, "report"), "artifacts"));
    print_request(run);
    if (json_array_size(outputs) > 0)
        terminal_print("\noutputs\n");
    json_array_foreach(outputs, i, row) {
        print_output(row);
    }
    return 0;
}

int command_show(const struct arguments *arguments) {
    struct records records;
    json_auto_t *run = NULL;
    if (records_command_find(arguments, &records, &run) < 0)
        return EXIT_USAGE;
    records_close(&records);
    return arguments->values[OPTION_JSON] ? terminal_put_json(run) : print_whole(run);
}
