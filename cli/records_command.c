/*
 * records_command.c - `petri runs`, of which session_tree.c draws those of a session, and `petri show RUN`.
 *
 * Another program may have changed a record: the two members that the commands
 * need are checked, all other fields may be missing, and everything is written
 * with kernel/base/terminal.h.
 */

#include "records_command.h"

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/session_tree.h"
#include "kernel/base/terminal.h"
#include "kernel/policy/config.h"
#include "protocol/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_RUNS_SHOWN = 20, RUNS_MAX = 1000000, COLUMN_BYTES = 1000, ID_BYTES = 8 };

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
    const char *run_id = "", *session_id = "", *started = "", *outcome = "", *task = "", *summary = "";
    json_int_t wall_ms = 0;
    json_unpack((json_t *)run, "{s:s, s:s, s:s, s:s, s:s, s:s, s:I}", "run_id", &run_id, "session_id", &session_id,
                "started", &started, "outcome", &outcome, "task", &task, "summary", &summary, "wall_ms", &wall_ms);
    put_column(run_id, ID_BYTES, ID_BYTES + 2);
    put_column(session_id, ID_BYTES, ID_BYTES + 2);
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
    terminal_print("%-8s  %-8s  %-19s  %-11s  %10s  %-12s  %s\n", "run", "session", "started (UTC)", "outcome", "time",
                   "task", "code");
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

/* `petri runs --session ID`. Returns the exit status. */
static int draw_session(const struct arguments *arguments, int64_t limit) {
    struct records records;
    json_auto_t *runs = NULL;
    if (arguments->values[OPTION_TASK] || arguments->values[OPTION_OUTCOME]) {
        fail_with("--session shows all runs of a session; leave out --task and --outcome");
        return EXIT_USAGE;
    }
    if (records_command_open(arguments, &records) < 0)
        return EXIT_USAGE;
    int r = session_runs(&records, arguments->values[OPTION_SESSION], limit, &runs);
    records_close(&records);
    if (r < 0)
        return r == -EIO ? EXIT_FAILURE : EXIT_USAGE;
    if (arguments->values[OPTION_JSON])
        return terminal_put_json(runs);
    return session_tree_put(runs) < 0 ? EXIT_FAILURE : 0;
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
    if (arguments->values[OPTION_SESSION])
        return draw_session(arguments, arguments->values[OPTION_LIMIT] ? filter.limit : RUNS_MAX);
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

/* "first", or "9b4f10eb [2]" where the number of its run is known. */
static void put_state(const char *image, json_int_t execution_count) {
    char part[ID_BYTES + 1];
    snprintf(part, sizeof part, "%s", image);
    terminal_put_line(part);
    if (execution_count > 0)
        terminal_print(" [%lld]", (long long)execution_count);
}

static void put_left(const json_t *report) {
    const char *checkpoint = text_in(report, "checkpoint");
    switch (session_left(report)) {
    case SESSION_LEFT_ITS_OWN:
        terminal_print("its own state%s", checkpoint[0] ? ", named " : "");
        terminal_put_line(checkpoint);
        break;
    case SESSION_LEFT_EARLIER:
        put_state(text_in(report, "image"), 0);
        break;
    case SESSION_LEFT_NONE:
    case SESSION_LEFT_UNKNOWN:
        terminal_print("no state: nothing of it was kept");
        break;
    }
}

/* The state that a run began in, and the one that it left. */
static void print_states(const json_t *run) {
    const json_t *report = json_object_get(run, "report");
    const json_t *path = json_object_get(run, "path");
    const json_t *last = json_array_get(path, json_array_size(path) - 1);
    const char *parent = text_in(report, "parent");
    put_line("session", text_in(report, "session_id"), "");
    if (session_left(report) == SESSION_LEFT_UNKNOWN)
        return;
    if (parent[0] && !session_is_line(report)) {
        terminal_print("%-13s", "began in");
        put_state(parent, json_integer_value(json_object_get(last, "execution_count")));
        terminal_print("\n");
    }
    terminal_print("%-13s", "left");
    put_left(report);
    terminal_print("\n");
}

/* The states from the first one to that in which the run began, or to which a line like %undo went. */
static void print_path(const json_t *run) {
    const json_t *path = json_object_get(run, "path");
    size_t i;
    json_t *step;
    if (json_array_size(path) == 0)
        return;
    terminal_print("\npath\n");
    if (strcmp(text_in(json_array_get(path, 0), "image"), SESSION_FIRST) != 0)
        terminal_print("  ... what came before it is not in the records\n");
    json_array_foreach(path, i, step) {
        const char *image = text_in(step, "image");
        const json_int_t count = json_integer_value(json_object_get(step, "execution_count"));
        char number[24];
        snprintf(number, sizeof number, count > 0 ? "[%lld]" : "", (long long)count);
        terminal_print("  %-6s", number);
        put_column(image, ID_BYTES, ID_BYTES + 2);
        terminal_put_line(text_in(step, "summary"));
        terminal_print("\n");
    }
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
    print_states(run);
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
    print_path(run);
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

/* Adds "path" to a run, as far as the records have it. */
static void add_path(struct records *records, json_t *run) {
    const json_t *report = json_object_get(run, "report");
    json_auto_t *runs = NULL;
    if (records_of_session(records, text_in(report, "session_id"), RUNS_MAX, &runs) < 0)
        return;
    json_object_set_new(run, "path", session_path(runs, text_in(report, session_is_line(report) ? "image" : "parent")));
}

int command_show(const struct arguments *arguments) {
    struct records records;
    json_auto_t *run = NULL;
    if (records_command_find(arguments, &records, &run) < 0)
        return EXIT_USAGE;
    add_path(&records, run);
    records_close(&records);
    return arguments->values[OPTION_JSON] ? terminal_put_json(run) : print_whole(run);
}
