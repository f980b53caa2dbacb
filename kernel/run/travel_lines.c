/*
 * travel_lines.c - what lines such as "%undo" do: a table of handlers.
 *
 * They run in the kernel process between two cells, so that they need nothing of the
 * session's Python. Each says in a line what it has done, or sets an outcome.
 */

#include "travel_lines.h"

#include "kernel/base/clock.h"
#include "kernel/files/writeback.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/runner.h"
#include "kernel/run/travel.h"
#include "kernel/timeline/timeline_show.h"
#include "kernel/timeline/travel_line.h"

#include <stdio.h>
#include <string.h>

static const char no_state[] = "\"checkpoint\" names what a run leaves, and a line such as %undo leaves nothing; the "
                               "line %checkpoint names the present state";

/* A line for the user, and the reply. */
static void say(struct run *run, const char *text) {
    char line[512];
    const int n = snprintf(line, sizeof line, "%s.\n", text);
    if (!run->asked.silent)
        iopub_stream(run->runner->jupyter, run->request->message.header, "stdout", line, (size_t)n);
}

/* The first letter as that of a sentence. */
static char *begin_sentence(char *text) {
    if (text[0] >= 'a' && text[0] <= 'z')
        text[0] = (char)(text[0] - 'a' + 'A');
    return text;
}

static void go(struct run *run, struct timeline_node *node) {
    struct runner *runner = run->runner;
    struct error error;
    char told[TRAVEL_TOLD_BYTES];
    travel_tell(runner, node, told);
    if (travel_go(runner, node, &error) < 0) {
        run_set_outcome(run, OUTCOME_SANDBOX, error.text);
        return;
    }
    run->asked.session_limits = runner->limits;
    say(run, begin_sentence(told));
}

static void go_by(struct run *run, struct timeline_node *node, const char *where_not) {
    struct error error;
    if (!node)
        run_set_outcome(run, OUTCOME_UNKNOWN, where_not);
    else if (!travel_check(run->runner, node, &error))
        run_set_outcome(run, OUTCOME_UNKNOWN, error.text);
    else
        go(run, node);
}

static void do_undo(struct run *run, const struct travel_line *line) {
    go_by(run, timeline_before(&run->runner->timeline, line->n),
          "there is nothing to undo: this is the session's beginning");
}

static void do_redo(struct run *run, const struct travel_line *line) {
    go_by(run, timeline_after(&run->runner->timeline, line->n),
          "there is nothing to redo: no cell after this one was undone; %restore goes to any state of %timeline");
}

static void do_restore(struct run *run, const struct travel_line *line) {
    struct error error;
    struct timeline_node *node = travel_find(run->runner, line->argument[0], &error);
    if (node)
        go(run, node);
    else
        run_set_outcome(run, OUTCOME_UNKNOWN, error.text);
}

static void do_checkpoint(struct run *run, const struct travel_line *line) {
    const struct timeline *timeline = &run->runner->timeline;
    const struct timeline_node *current = timeline->current, *had = timeline_find_name(timeline, line->argument[0]);
    struct error error;
    char text[IMAGE_NAME_BYTES + 128], count[32];
    if (travel_name(run->runner, line->argument[0], &error) < 0) {
        run_set_outcome(run, OUTCOME_REFUSED, error.text);
        return;
    }
    snprintf(count, sizeof count, " after [%d]", current->execution_count);
    int n = snprintf(text, sizeof text, "%s is the %sstate%s", line->argument[0],
                     current->execution_count > 0 ? "" : "present ", current->execution_count > 0 ? count : "");
    snprintf(count, sizeof count, "the one after [%d]", had ? had->execution_count : 0);
    if (had && had != current)
        snprintf(text + n, sizeof text - (size_t)n, ", and no longer %s",
                 had->execution_count > 0 ? count : "another one");
    say(run, text);
}

static void do_forget(struct run *run, const struct travel_line *line) {
    char text[IMAGE_NAME_BYTES + 96];
    if (timeline_unname(&run->runner->timeline, line->argument[0]) < 0) {
        snprintf(text, sizeof text, "no checkpoint is called \"%s\"; %%timeline lists them", line->argument[0]);
        run_set_outcome(run, OUTCOME_UNKNOWN, text);
        return;
    }
    snprintf(text, sizeof text, "%s is no name any more; what it named goes when there is no room for it",
             line->argument[0]);
    say(run, text);
}

static void do_timeline(struct run *run, const struct travel_line *line) {
    json_t *data = timeline_show(&run->runner->timeline, clock_date_ms());
    (void)line;
    if (data && !run->asked.silent)
        iopub_publish(run->runner->jupyter, run->request->message.header, "display_data",
                      json_pack("{s:o, s:{}, s:{}}", "data", data, "metadata", "transient"));
    else
        json_decref(data);
}

/* "[3]", "clean": what a state is called in a title. Returns buf. */
static const char *title_of(const char *asked, char *buf, size_t size) {
    const bool is_number = strspn(asked, "0123456789") == strlen(asked);
    snprintf(buf, size, is_number ? "[%s]" : "%s", asked);
    return buf;
}

static void do_diff(struct run *run, const struct travel_line *line) {
    struct runner *runner = run->runner;
    const bool is_present = line->argument[1][0] == '\0';
    struct error error;
    char from[80], to[80], title[COMPARISON_TITLE_BYTES];
    const struct timeline_node *before = travel_find(runner, line->argument[0], &error);
    const struct timeline_node *after = !before      ? NULL
                                        : is_present ? travel_check(runner, runner->timeline.current, &error)
                                                     : travel_find(runner, line->argument[1], &error);
    if (!after) {
        run_set_outcome(run, OUTCOME_UNKNOWN, error.text);
        return;
    }
    snprintf(title, sizeof title, "From %s to %s", title_of(line->argument[0], from, sizeof from),
             is_present ? "the present state" : title_of(line->argument[1], to, sizeof to));
    comparison_begin(&run->now.comparison, before, after, title);
}

typedef void travel_handler(struct run *run, const struct travel_line *line);
static travel_handler *const handlers[TRAVEL_N] = {
    [TRAVEL_UNDO] = do_undo,       [TRAVEL_REDO] = do_redo,         [TRAVEL_CHECKPOINT] = do_checkpoint,
    [TRAVEL_RESTORE] = do_restore, [TRAVEL_TIMELINE] = do_timeline, [TRAVEL_DIFF] = do_diff,
    [TRAVEL_FORGET] = do_forget,
};

bool travel_is_line(const json_t *code) {
    struct travel_line line;
    struct error error;
    return json_is_string(code) &&
           (travel_line_read(json_string_value(code), json_string_length(code), &line, &error) < 0 ||
            handlers[line.travel]);
}

/* Why a line can't be done for this request; NULL where it can. */
static const char *why_not(const struct run *run, const struct travel_line *line) {
    if (run->beside)
        return "a run beside the session does not change where that is; send it without \"fresh\" and \"from\" to go "
               "back in the session";
    if (run->asked.spec.checkpoint[0])
        return no_state;
    if (run->asked.spec.no_commit && line->travel != TRAVEL_TIMELINE && line->travel != TRAVEL_DIFF)
        return "a line that goes somewhere, or gives or takes a name, needs a run that is committed; send it without "
               "\"commit\"";
    return NULL;
}

void travel_line(struct run *run, const json_t *code) {
    struct runner *runner = run->runner;
    struct travel_line line;
    struct error error;
    run->result.travelled = true;
    if (travel_line_read(json_string_value(code), json_string_length(code), &line, &error) < 0)
        run_set_outcome(run, OUTCOME_REFUSED, error.text);
    else if (why_not(run, &line))
        run_set_outcome(run, OUTCOME_REFUSED, why_not(run, &line));
    else if (!runner->timeline.current)
        run_set_outcome(run, OUTCOME_SANDBOX, runner->why);
    else
        handlers[line.travel](run, &line);
    if (run->result.outcome == OUTCOME_OK)
        run->result.reply = json_pack("{s:s}", "status", "ok");
}

bool travel_is_question(const json_t *code) {
    return json_is_string(code) && travel_line_asks(json_string_value(code), json_string_length(code));
}

void travel_question(struct run *run) {
    if (run->asked.spec.checkpoint[0])
        run_set_outcome(run, OUTCOME_REFUSED, no_state);
    run->asked.spec.no_commit = true;
    run->asked.spec.keeps_branch = false;
}
