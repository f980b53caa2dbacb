/*
 * replay_session.c - `petri replay --session ID`: all runs of a session in one new kernel, each in the state in which
 * it ran.
 *
 * Runs are repeated in their order, which is one of the tree: a state comes before
 * what ran in it. Where a run began in another state than the one before has left,
 * it is sent with "from". So lines that go back have nothing left to do; those that
 * give or take names are run, because a name decides which state goes first when
 * there are too many. The states have other ids than the recorded ones, which
 * "images" translates.
 */

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/records_command.h"
#include "cli/replay_run.h"
#include "cli/session_tree.h"
#include "kernel/base/terminal.h"
#include "protocol/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ID_BYTES = 8 };

struct replaying {
    const struct arguments *arguments;
    struct records records;
    struct client *client;
    json_t *images;   /* {id of a recorded state: its id in the replay} */
    json_t *counts;   /* {id of a recorded state: the execution count in it} */
    json_int_t count; /* of the recorded session */
    json_t *now;      /* the id of the state that the replay is in; or NULL */
    json_t *rows;     /* [{"run_id", "replay_run_id", "differences"}] */
    json_t *skipped;  /* ids of messages, which can't be replayed */
    bool is_same_tree;
};

static int find_whole(struct replaying *replaying, const json_t *row, json_t **ret_run) {
    json_auto_t *run = NULL;
    const char *run_id = text_in(row, "run_id");
    int r = records_find(&replaying->records, run_id, &run);
    if (r <= 0 || !json_is_object(json_object_get(run, "report")) || !json_is_string(json_object_get(run, "code"))) {
        terminal_complain("run %s can't be read: it is not stored as petri stores records", run_id);
        return -EBADMSG;
    }
    *ret_run = json_incref(run);
    return 0;
}

/* Whether a row is a line that only goes somewhere. %checkpoint and %forget are lines too. */
static bool only_goes(const json_t *row) {
    const char *code = text_in(row, "summary");
    return session_is_line(row) && strncmp(code, "%checkpoint", strlen("%checkpoint")) != 0 &&
           strncmp(code, "%forget", strlen("%forget")) != 0;
}

/* Before anything runs: whether each run of the session can be replayed. 0, or -errno after a sentence. */
static int check_all(struct replaying *replaying, const json_t *runs) {
    size_t i;
    json_t *row;
    json_array_foreach(runs, i, row) {
        json_auto_t *run = NULL;
        int r = only_goes(row) ? 0 : find_whole(replaying, row, &run);
        const char *why = r == 0 && run && !json_object_get(run, "message") ? replay_refusal(run) : NULL;
        if (why)
            terminal_complain("the session can't be replayed: of run %s, %s", text_in(row, "run_id"), why);
        if (r < 0 || why)
            return -EINVAL;
    }
    return 0;
}

/* A recorded state's id in the replay; NULL where it has none there. */
static json_t *translate(const struct replaying *replaying, const json_t *id) {
    return json_is_string(id) ? json_object_get(replaying->images, json_string_value(id)) : NULL;
}

static bool same_text(const json_t *a, const json_t *b) {
    return json_is_string(a) && json_is_string(b) && json_equal(a, b);
}

/* The state that a run is sent with as "from", borrowed; NULL where the session is in it already and the run isn't a
 * branch, which has to have one, or a fresh run has none. */
static json_t *from_of(const struct replaying *replaying, const json_t *report) {
    json_t *from = translate(replaying, json_object_get(report, "parent"));
    const bool is_there = same_text(from, replaying->now) && !session_is_branch(report);
    return is_there || json_is_true(json_object_get(report, "fresh")) ? NULL : from;
}

static void move(struct replaying *replaying, json_t *image) {
    if (!json_is_string(image))
        return;
    json_decref(replaying->now);
    replaying->now = json_incref(image);
}

/* Runs code and notes where the session is then. 0, or -errno after a sentence. */
static int run_code(struct replaying *replaying, const json_t *code, const json_t *request, json_t **ret_report) {
    struct error error;
    int r = client_run(replaying->client, code, request, ret_report, &error);
    if (r < 0)
        terminal_complain("%s", error.text);
    else if (!session_is_branch(*ret_report))
        move(replaying, json_object_get(*ret_report, "image"));
    return r;
}

/* A line that gives or takes a name, in the state in which it did. What it says is not compared: it has figures. */
static int run_line(struct replaying *replaying, const json_t *run) {
    const json_t *report = json_object_get(run, "report");
    json_t *image = translate(replaying, json_object_get(report, "image"));
    json_auto_t *went = NULL, *named = NULL;
    if (!image)
        return 0;
    json_auto_t *restore = json_sprintf("%%restore %s", json_string_value(image));
    client_count(replaying->client, false);
    int r = same_text(image, replaying->now) ? 0 : run_code(replaying, restore, NULL, &went);
    return r < 0 ? r : run_code(replaying, json_object_get(run, "code"), NULL, &named);
}

/* Adds a difference where a state isn't the one that the record has; before and after may be NULL for none. */
static void compare_state(struct replaying *replaying, json_t *differences, const char *name, json_t *before,
                          json_t *after) {
    json_t *expected = translate(replaying, before);
    const bool same = json_is_string(before) ? same_text(expected, after) : !json_is_string(after);
    if (same)
        return;
    replaying->is_same_tree = false;
    json_array_append_new(differences, json_pack("{s:s, s:s, s:O?, s:O?}", "what", "state", "name", name, "before",
                                                 before, "after", after));
}

/* Compares where a run stands in the tree, and learns which state of the replay is its own. */
static void compare_place(struct replaying *replaying, json_t *differences, const json_t *before, const json_t *after) {
    const enum session_left left = session_left(before);
    json_t *old = json_object_get(before, "image"), *new = json_object_get(after, "image");
    if (left == SESSION_LEFT_UNKNOWN)
        return;
    if (left == SESSION_LEFT_ITS_OWN && session_left(after) == SESSION_LEFT_ITS_OWN)
        json_object_set(replaying->images, json_string_value(old), new);
    compare_state(replaying, differences, "begun in", json_object_get(before, "parent"),
                  json_object_get(after, "parent"));
    compare_state(replaying, differences, "left", old, new);
}

static void put_row(const json_t *row, const json_t *differences) {
    const json_int_t count = json_integer_value(json_object_get(row, "execution_count"));
    char part[ID_BYTES + 1], number[24];
    snprintf(number, sizeof number, "[%lld]", (long long)count);
    snprintf(part, sizeof part, "%s", text_in(row, "run_id"));
    terminal_print("%-6s", count > 0 ? number : "");
    terminal_put_line(part);
    terminal_print("  %s  ", json_array_size(differences) == 0 ? "the same" : "differs ");
    terminal_put_line(text_in(row, "summary"));
    terminal_print("\n");
    replay_put_differences(differences);
}

/* Whether a run took a number: its own is greater than that of the state in which it ran, or, where it was fresh, of
 * the session. */
static bool took_number(const struct replaying *replaying, const json_t *run) {
    const json_t *report = json_object_get(run, "report");
    const json_t *before = json_object_get(replaying->counts, text_in(report, "parent"));
    const bool is_fresh = json_is_true(json_object_get(report, "fresh"));
    return json_integer_value(json_object_get(run, "execution_count")) >
           (before && !is_fresh ? json_integer_value(before) : replaying->count);
}

/* The execution counts of the recorded session, and of the state that a run has left. A rollback keeps the number, but
 * for a run that had gone elsewhere. */
static void note_count(struct replaying *replaying, const json_t *run) {
    const json_t *report = json_object_get(run, "report");
    json_t *count = json_object_get(run, "execution_count");
    const bool is_committed = session_left(report) == SESSION_LEFT_ITS_OWN && !session_is_branch(report);
    const bool stays = json_is_true(json_object_get(report, "rolled_back")) &&
                       !json_object_get(json_object_get(run, "request"), "from");
    if (is_committed || stays)
        replaying->count = json_integer_value(count);
    if (stays && !json_is_true(json_object_get(report, "fresh")) && json_is_integer(count))
        json_object_set(replaying->counts, text_in(report, "parent"), count);
    if (session_left(report) == SESSION_LEFT_ITS_OWN && json_is_integer(count))
        json_object_set(replaying->counts, text_in(report, "image"), count);
}

static int run_cell(struct replaying *replaying, const json_t *row, const json_t *run) {
    const json_t *before = json_object_get(run, "report");
    json_auto_t *request = replay_request(&replaying->records, run);
    json_auto_t *report = NULL;
    if (!request) {
        terminal_complain("the session can't be replayed: of run %s, its files are no longer in the records",
                          text_in(row, "run_id"));
        return -EINVAL;
    }
    json_t *from = from_of(replaying, before);
    json_object_del(request, "from");
    if (from)
        json_object_set(request, "from", from);
    client_count(replaying->client, took_number(replaying, run));
    note_count(replaying, run);
    int r = run_code(replaying, json_object_get(run, "code"), request, &report);
    if (r < 0)
        return r;
    json_auto_t *differences = replay_differences(replaying->arguments, &replaying->records, run, report);
    compare_place(replaying, differences, before, report);
    if (!replaying->arguments->values[OPTION_JSON])
        put_row(row, differences);
    json_array_append_new(replaying->rows,
                          json_pack("{s:O, s:O, s:O}", "run_id", json_object_get(before, "run_id"), "replay_run_id",
                                    json_object_get(report, "run_id"), "differences", differences));
    return 0;
}

static int run_all(struct replaying *replaying, const json_t *runs) {
    size_t i;
    json_t *row;
    int r = 0;
    json_array_foreach(runs, i, row) {
        json_auto_t *run = NULL;
        if (session_is_line(row))
            replaying->count = json_integer_value(json_object_get(replaying->counts, text_in(row, "image")));
        if (only_goes(row))
            continue;
        r = find_whole(replaying, row, &run);
        if (r == 0 && json_object_get(run, "message"))
            json_array_append(replaying->skipped, json_object_get(row, "run_id"));
        else if (r == 0)
            r = session_is_line(row) ? run_line(replaying, run) : run_cell(replaying, row, run);
        if (r < 0)
            return r;
    }
    return r;
}

static size_t count_different(const json_t *rows) {
    size_t n = 0, i;
    json_t *row;
    json_array_foreach(rows, i, row) {
        n += json_array_size(json_object_get(row, "differences")) > 0;
    }
    return n;
}

/* What came of it, at the end. Returns the exit status. */
static int show_all(const struct replaying *replaying, const char *session_id) {
    const size_t n = json_array_size(replaying->rows), n_different = count_different(replaying->rows);
    const bool same = n_different == 0;
    int written = 0;
    if (replaying->arguments->values[OPTION_JSON]) {
        json_auto_t *all = json_pack("{s:s, s:b, s:b, s:O, s:O}", "session_id", session_id, "same", same, "same_tree",
                                     replaying->is_same_tree, "runs", replaying->rows, "skipped", replaying->skipped);
        written = terminal_put_json(all);
    } else {
        if (json_array_size(replaying->skipped) > 0)
            terminal_print("%zu messages, to widgets say, have no code and were not replayed.\n",
                           json_array_size(replaying->skipped));
        terminal_print("Of %zu runs %zu differ.\n", n, n_different);
        terminal_print("The tree of states is %s.\n", replaying->is_same_tree ? "the recorded one" : "another one");
    }
    return same ? written : 1;
}

/* 0, or -errno after a sentence. */
static int start(struct replaying *replaying, const json_t *runs) {
    struct error error;
    json_auto_t *run = NULL;
    int r = check_all(replaying, runs);
    for (size_t i = 0; r == 0 && i < json_array_size(runs) && (!run || json_object_get(run, "message")); i++) {
        json_decref(run);
        run = NULL;
        r = find_whole(replaying, json_array_get(runs, i), &run);
    }
    if (r < 0)
        return r;
    r = replay_start(replaying->arguments, run, &replaying->client, &error);
    if (r == -ENOTDIR)
        terminal_complain("the session can't be replayed: %s", error.text);
    else if (r < 0)
        terminal_complain("%s", error.text);
    return r;
}

int replay_session(const struct arguments *arguments) {
    struct replaying replaying = {.arguments = arguments, .is_same_tree = true};
    json_auto_t *runs = NULL;
    if (records_command_open(arguments, &replaying.records) < 0)
        return EXIT_USAGE;
    replaying.images = json_pack("{s:s}", SESSION_FIRST, SESSION_FIRST);
    replaying.counts = json_pack("{s:i}", SESSION_FIRST, 0);
    replaying.now = json_string(SESSION_FIRST);
    replaying.rows = json_array();
    replaying.skipped = json_array();
    int r = session_runs(&replaying.records, arguments->values[OPTION_SESSION], INT64_MAX, &runs);
    if (r == 0)
        r = start(&replaying, runs);
    if (r == 0)
        r = run_all(&replaying, runs);
    client_stop(replaying.client);
    int status = r < 0 ? EXIT_USAGE : show_all(&replaying, text_in(json_array_get(runs, 0), "session_id"));
    records_close(&replaying.records);
    json_decref(replaying.images);
    json_decref(replaying.counts);
    json_decref(replaying.now);
    json_decref(replaying.rows);
    json_decref(replaying.skipped);
    return status;
}
