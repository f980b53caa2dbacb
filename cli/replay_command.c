/*
 * replay_command.c - `petri replay RUN`: runs it again from image 0, and shows the differences.
 *
 * The objects of runs before it are missing; petri says so. replay_session.c runs
 * a whole session again.
 */

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/records_command.h"
#include "cli/replay_run.h"
#include "kernel/base/terminal.h"

#include <errno.h>
#include <stdio.h>

static int refuse_replay(const char *why) {
    terminal_complain("this run can't be replayed: %s", why);
    return -EINVAL;
}

/* Runs it. 0, or -errno after a sentence on standard error. */
static int run_again(const struct arguments *arguments, const json_t *run, const json_t *request, json_t **ret_report) {
    struct client *client = NULL;
    struct error error;
    int r = replay_start(arguments, run, &client, &error);
    if (r == -ENOTDIR)
        return refuse_replay(error.text);
    if (r == 0)
        r = client_run(client, json_object_get(run, "code"), request, ret_report, &error);
    client_stop(client);
    if (r < 0)
        terminal_complain("%s", error.text);
    return r;
}

static void put_differences(const json_t *run, const json_t *differences) {
    json_int_t follows = json_integer_value(json_object_get(run, "follows"));
    if (follows > 0)
        terminal_print("The run came %lld runs after its session's start; the replay had none of them before it.\n",
                       (long long)follows);
    if (json_array_size(differences) == 0)
        terminal_print("Nothing differs.\n");
    replay_put_differences(differences);
}

static int show_differences(const struct arguments *arguments, const json_t *run, const json_t *report,
                            json_t *differences) {
    bool same = json_array_size(differences) == 0;
    int written = 0;
    if (arguments->values[OPTION_JSON]) {
        json_auto_t *all =
            json_pack("{s:O, s:O, s:b, s:O, s:O}", "run_id", json_object_get(json_object_get(run, "report"), "run_id"),
                      "replay_run_id", json_object_get(report, "run_id"), "same", same, "follows",
                      json_object_get(run, "follows"), "differences", differences);
        written = terminal_put_json(all);
    } else {
        put_differences(run, differences);
    }
    return same ? written : 1;
}

static int replay(const struct arguments *arguments, struct records *records, const json_t *run) {
    json_auto_t *report = NULL;
    const char *why = replay_refusal(run);
    json_auto_t *request = why ? NULL : replay_request(records, run);
    if (!request) {
        refuse_replay(why ? why : "its files are no longer in the records");
        return EXIT_USAGE;
    }
    json_object_set_new(request, "fresh", json_true()); /* which has no place in a session */
    json_object_del(request, "from");
    json_object_del(request, "commit");
    json_object_del(request, "checkpoint");
    if (run_again(arguments, run, request, &report) < 0)
        return EXIT_USAGE;
    json_auto_t *differences = replay_differences(arguments, records, run, report);
    return show_differences(arguments, run, report, differences);
}

int command_replay(const struct arguments *arguments) {
    struct records records;
    json_auto_t *run = NULL;
    const bool has_session = arguments->values[OPTION_SESSION] != NULL;
    if ((arguments->n_operands == 1) == has_session) {
        terminal_complain("petri replay needs RUN or --session ID; see petri replay --help");
        return EXIT_USAGE;
    }
    if (has_session)
        return replay_session(arguments);
    if (records_command_find(arguments, &records, &run) < 0)
        return EXIT_USAGE;
    int status = replay(arguments, &records, run);
    records_close(&records);
    return status;
}
