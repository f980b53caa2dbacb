/*
 * travel.c - see travel.h.
 *
 * A node is made when its cell has been committed, after the reply: the report has
 * its id, the run's, before. The cell that is made ahead is of the image that one
 * leaves, so it is discarded first. Limits bound what is kept: after each step the oldest go,
 * and a checkpoint that has to go is said, because somebody relies on it.
 */

#include "travel.h"

#include "base/slices.h"
#include "kernel/base/clock.h"
#include "kernel/base/log.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/files/writeback.h"
#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/policy/machine.h"
#include "kernel/run/missed.h"
#include "kernel/run/runner.h"
#include "kernel/timeline/timeline_show.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOST_NAMES_BYTES = 256, SHORT_PART = 8, SHORT_BYTES = 64 << 20, OVER_MS = 100, AGAIN_MS = 5, PATIENCE_S = 10 };

static void drop(void *arg, struct kept_image *image) {
    struct runner *runner = arg;
    session_forget(runner->session, image);
}

void travel_init(struct runner *runner) {
    timeline_init(&runner->timeline, drop, runner);
    runner->trim_us = CLOCK_NEVER;
}

void travel_fini(struct runner *runner) {
    timeline_fini(&runner->timeline);
}

/* own_files: writeback_state(), borrowed. */
static struct timeline_state state_of(const struct runner *runner, json_t *own_files) {
    return (struct timeline_state){.execution_count = runner->execution_count,
                                   .limits = runner->limits,
                                   .comms = runner->comms->open,
                                   .own_files = own_files,
                                   .missed = runner->missed};
}

/* The numbers that cells have taken since are those of the state that the session is about to leave, too. */
static void note_numbers(struct runner *runner) {
    struct timeline_node *current = runner->timeline.current;
    if (!current || !current->image)
        return;
    struct timeline_state state = current->state;
    state.execution_count = runner->execution_count;
    state.missed = runner->missed;
    timeline_state_set(&current->state, &state, &current->state);
}

/* The session's present image; NULL where it can't be kept, and then one can't go back to it. */
static struct kept_image *keep(struct runner *runner) {
    struct kept_image *image = NULL;
    int r = session_keep(runner->session, &image);
    if (r < 0)
        log_write(runner->log, LOG_LEVEL_WARNING, "the state after a cell can't be kept: %s", strerror(-r));
    return image;
}

/* The names that an image had which has gone. */
static void note_lost(const struct timeline_node *node, char *lost) {
    size_t i;
    json_t *name;
    json_array_foreach(node->names, i, name) {
        const size_t n = strlen(lost);
        snprintf(lost + n, LOST_NAMES_BYTES - n, "%s%s", n ? ", " : "", json_string_value(name));
    }
}

/* What the states may hold; where the machine, or the container, is short of memory less. */
static uint64_t most_bytes(const struct runner *runner) {
    const struct machine_memory has = machine_memory("");
    const int64_t most = runner->limits.values[LIMIT_HISTORY_MEMORY];
    return (uint64_t)(has.available < has.total / SHORT_PART && most > SHORT_BYTES ? SHORT_BYTES : most);
}

/* Whether that is within it, however much memory the machine has, which is read only where it matters. */
static bool is_little(const struct runner *runner, uint64_t bytes) {
    return bytes <= SHORT_BYTES && bytes <= (uint64_t)runner->limits.values[LIMIT_HISTORY_MEMORY];
}

/* What states hold of the sandbox, and what they hold of this process beside it. */
static uint64_t with_states(const struct runner *runner, uint64_t bytes) {
    const uint64_t own_bytes = timeline_bytes(&runner->timeline);
    return bytes < UINT64_MAX - own_bytes ? bytes + own_bytes : UINT64_MAX;
}

uint64_t travel_kept_bytes(const struct runner *runner) {
    uint64_t bytes;
    return with_states(runner,
                       session_measure_kept(runner->session, &bytes) ? bytes : session_kept_bound(runner->session));
}

/* Measuring takes long, so there is a bound first, which is too high by what cells have that run, and more. */
static uint64_t bound_bytes(const struct runner *runner) {
    return with_states(runner, session_kept_bound(runner->session));
}

static bool may_be_over_memory(const struct runner *runner) {
    const uint64_t bound = bound_bytes(runner);
    return !is_little(runner, bound) && bound > most_bytes(runner);
}

/* Drops the one that is to go first; lost: the names that it had. */
static bool drop_one(struct runner *runner, char lost[LOST_NAMES_BYTES]) {
    const struct timeline_node *gone = timeline_drop_oldest(&runner->timeline);
    if (gone)
        note_lost(gone, lost);
    return gone;
}

static void tell_lost(const struct runner *runner, const char *lost) {
    char line[LOST_NAMES_BYTES + 256];
    if (!lost[0])
        return;
    const int n = snprintf(
        line, sizeof line,
        "petri: checkpoints have made room for newer states and are gone: %s. The limits history and "
        "history_memory bound what is kept%s.\n",
        lost, runner->few_descriptors > 0 ? ", and so does the kernel's limit of open files, which is low" : "");
    iopub_stream(runner->jupyter, NULL, "stderr", line, (size_t)n);
}

/*
 * Whether that is measured by now. If it may be half as much again, the next cell waits for it, and others are served:
 * cells that follow each other could add more than is dropped.
 */
static bool measure(const struct runner *runner, int64_t until_us, uint64_t *ret_bytes) {
    uint64_t bytes;
    bool measured;
    while (!(measured = session_measure_kept(runner->session, &bytes)) &&
           bound_bytes(runner) > most_bytes(runner) / 2 * 3 && clock_us() < until_us)
        slices_wait();
    if (measured)
        *ret_bytes = with_states(runner, bytes);
    return measured;
}

/* Drops what is over it, as far as it is measured. Whether there is nothing more to drop. */
static bool drop_measured(struct runner *runner, char lost[LOST_NAMES_BYTES]) {
    const int64_t until_us = clock_us() + PATIENCE_S * CLOCK_S;
    uint64_t bytes;
    do {
        if (!may_be_over_memory(runner))
            return true;
        if (!measure(runner, until_us, &bytes))
            return false;
    } while (bytes > most_bytes(runner) && drop_one(runner, lost));
    return true;
}

/*
 * What a cell held that has ended is counted until it is free, which others can put off for some milliseconds by
 * reading of it in /proc. So none goes for memory at the first look, nor is it measured then. To measure takes a thread
 * a while, and one looks again.
 */
static void trim_memory(struct runner *runner, char lost[LOST_NAMES_BYTES]) {
    const int64_t now_us = clock_us();
    const size_t n_before = runner->timeline.n_images;
    if (n_before <= 1 || !may_be_over_memory(runner))
        runner->trim_us = CLOCK_NEVER;
    else if (runner->trim_us == CLOCK_NEVER)
        runner->trim_us = now_us + OVER_MS * CLOCK_MS;
    else if (runner->trim_us <= now_us)
        runner->trim_us = drop_measured(runner, lost) ? CLOCK_NEVER : now_us + AGAIN_MS * CLOCK_MS;
    if (runner->timeline.n_images < n_before)
        malloc_trim(0); /* what this process kept for them goes back to the system, too */
}

/* A kernel whose limit of open files is low has fewer states than the limit history allows. */
static void trim_descriptors(struct runner *runner, char lost[LOST_NAMES_BYTES]) {
    uint64_t limit = 0;
    while (session_lacks_descriptors(runner->session, &limit) && drop_one(runner, lost)) {
        if (runner->few_descriptors == 0)
            log_write(runner->log, LOG_LEVEL_WARNING,
                      "states go before there are as many as the limit history allows: this process may have %" PRIu64
                      " files open (ulimit -Hn)",
                      limit);
        runner->few_descriptors = limit;
    }
}

/* Holds what is kept to the limits. */
static void trim(struct runner *runner) {
    char lost[LOST_NAMES_BYTES] = "";
    trim_descriptors(runner, lost);
    while ((int64_t)timeline_count_kept(&runner->timeline) > runner->limits.values[LIMIT_HISTORY] &&
           drop_one(runner, lost))
        ;
    trim_memory(runner, lost);
    tell_lost(runner, lost);
}

void travel_watch(const struct runner *runner, struct poll_set *set) {
    if (runner->state == RUNNER_IDLE)
        poll_set_deadline(set, runner->trim_us);
}

void travel_tick(struct runner *runner, int64_t now_us) {
    if (runner->state == RUNNER_IDLE && runner->trim_us <= now_us)
        trim(runner);
}

void travel_note(struct runner *runner) {
    struct timeline *timeline = &runner->timeline;
    json_auto_t *own_files = writeback_state(runner->writeback);
    const struct timeline_state state = state_of(runner, own_files);
    if (timeline->current && json_array_size(timeline->current->names) > 0)
        return; /* what it names is as good */
    struct kept_image *image = keep(runner);
    int r = !image              ? -ENOMEM
            : timeline->current ? timeline_amend(timeline, "", image, &state)
                                : timeline_begin(timeline, image, &state);
    if (r < 0)
        session_forget(runner->session, image);
}

/* What a request does that takes no number, as that of a front end's variable inspector, or a message of a widget,
 * belongs to the step before it: who undoes the last cell sees no other step. */
static bool is_step(const struct run *run) {
    return run->asked.code && run->asked.counts;
}

bool travel_keeps(const struct run *run) {
    return !run->beside && !run->result.rolled_back && !run->asked.spec.no_commit;
}

bool travel_names(const struct run *run) {
    return run->asked.spec.checkpoint[0] && run->result.outcome == OUTCOME_OK &&
           (travel_keeps(run) || travel_branches(run));
}

bool travel_branches(const struct run *run) {
    return run->branch && run->asked.spec.keeps_branch && !run->result.rolled_back && run->asked.code;
}

const char *travel_image(const struct run *run) {
    const struct timeline_node *current = run->runner->timeline.current;
    if (travel_branches(run))
        return run->run_id;
    if (!travel_keeps(run))
        return NULL;
    if (run->result.travelled || !current)
        return current ? current->id : NULL;
    return is_step(run) ? run->run_id : timeline_amended_id(&run->runner->timeline, run->run_id);
}

const char *travel_parent(const struct run *run) {
    const struct timeline_node *current = run->runner->timeline.current;
    if (run->beside && !run->branch)
        return "first";
    if (run->result.travelled && current)
        return current->parent_id[0] ? current->parent_id : NULL;
    return run->result.parent[0] ? run->result.parent : NULL;
}

static struct timeline_cell cell_of(const struct run *run) {
    const int64_t wall_us = run->result.ended_us - run->started_us;
    return (struct timeline_cell){
        .run_id = run->run_id,
        .execution_count = run->asked.counts ? run->asked.execution_count : 0,
        .code = json_string_value(run->asked.code),
        .code_bytes = json_string_length(run->asked.code),
        .started = run->started,
        .started_ms = clock_date_ms() - (clock_us() - run->started_us) / CLOCK_MS,
        .wall_ms = wall_us / CLOCK_MS,
        .bytes_changed = run->result.bytes_changed,
        .files_changed = (unsigned)(json_array_size(run->result.artifact_rows) + run->result.artifacts_omitted)};
}

/* Adds the run's step; or has its change belong to the step before. */
static void add_step(struct run *run) {
    struct runner *runner = run->runner;
    struct timeline *timeline = &runner->timeline;
    json_auto_t *own_files = writeback_state(runner->writeback);
    const struct timeline_state state = state_of(runner, own_files);
    const struct timeline_cell cell = cell_of(run);
    struct kept_image *image = keep(runner);
    int r = is_step(run) ? timeline_add(timeline, &cell, image, &state)
                         : timeline_amend(timeline, run->run_id, image, &state);
    if (r < 0)
        session_forget(runner->session, image);
    if (r == 0 && travel_names(run))
        r = timeline_name(timeline, timeline->current, run->asked.spec.checkpoint);
    if (r < 0)
        log_write(runner->log, LOG_LEVEL_ERROR, "one can't go back to a cell: no memory");
}

void travel_keep_branch(struct run *run) {
    struct runner *runner = run->runner;
    struct timeline *timeline = &runner->timeline;
    const int64_t began_ns = clock_date_ms() * 1000000 - (clock_us() - run->started_us) * 1000;
    json_auto_t *own_files = writeback_state_of(runner->writeback, run->now.cell, began_ns, run->own_files);
    const struct timeline_state state = {.execution_count = run->asked.execution_count,
                                         .limits = run->asked.session_limits,
                                         .comms = run->own_comms.open,
                                         .own_files = own_files};
    const struct timeline_cell cell = cell_of(run);
    struct kept_image *image = NULL;
    int r = cell_keep(run->now.cell, &image);
    if (r < 0)
        log_write(runner->log, LOG_LEVEL_WARNING, "the state after a cell can't be kept: %s", strerror(-r));
    r = timeline_branch(timeline, run->result.parent, &cell, image, &state);
    if (r < 0)
        session_forget(runner->session, image);
    if (r == 0 && travel_names(run))
        r = timeline_name(timeline, timeline_find_id(timeline, run->run_id), run->asked.spec.checkpoint);
    if (r < 0)
        log_write(runner->log, LOG_LEVEL_ERROR, "one can't go back to a cell: no memory");
    trim(runner);
}

/* A state has its limits, but what bounds all states together is none of one's own. */
static void take_limits(struct limits *limits, const struct limits *of_state) {
    static const enum limit of_all[] = {LIMIT_HISTORY, LIMIT_HISTORY_MEMORY};
    const struct limits before = *limits;
    *limits = *of_state;
    for (size_t i = 0; i < sizeof of_all / sizeof of_all[0]; i++)
        limits->values[of_all[i]] = before.values[of_all[i]];
}

/* What a state had to write, and is written by now, is the host's: its cells are to see that, the first one too. Where
 * it can't be given up, the first cell does that at its end. */
static void release_settled(struct runner *runner, struct timeline_node *node) {
    const char **list;
    const size_t n = writeback_list_settled(node->state.own_files, &list);
    auto_free const char **paths = list;
    auto_free bool *released = calloc(n + 1, sizeof *released);
    int r = !released ? -ENOMEM : n ? session_release_kept(runner->session, node->image, paths, n, released) : 0;
    if (r < 0)
        log_write(runner->log, LOG_LEVEL_DEBUG, "a state has its own versions of files that are written: %s",
                  strerror(-r));
    if (r < 0 || n == 0)
        return;
    json_auto_t *own_files = writeback_without(node->state.own_files, paths, released, n);
    struct timeline_state state = node->state;
    state.own_files = own_files;
    timeline_state_set(&node->state, &state, &node->state);
}

/* The session has the state of a node then. 0, or -errno with a sentence. */
static int enter(struct runner *runner, struct timeline_node *node, struct error *ret_error) {
    struct error cause = {0};
    release_settled(runner, node);
    cell_discard(steal_pointer(runner->ahead));
    int r = session_restore(runner->session, node->image, &cause);
    runner->version++;
    runner->ahead_failed = false; /* of another state it may go well */
    if (r < 0)
        return error_set_sandbox(ret_error, r, &cause);
    runner->execution_count = node->state.execution_count;
    json_decref(runner->missed);
    runner->missed = json_incref(node->state.missed);
    take_limits(&runner->limits, &node->state.limits);
    comms_set(runner->comms, node->state.comms);
    writeback_go(runner->writeback, node->state.own_files);
    json_object_clear(runner->known_inputs); /* by names and times, which files have again */
    return 0;
}

int travel_go(struct runner *runner, struct timeline_node *node, struct error *ret_error) {
    struct error cause = {0};
    if (node == runner->timeline.current)
        return error_set_sandbox(ret_error, session_check(runner->session, &cause), &cause);
    note_numbers(runner);
    int r = travel_check(runner, node, ret_error) ? enter(runner, node, ret_error) : -ESTALE;
    if (r == 0)
        timeline_go(&runner->timeline, node);
    return r;
}

int travel_leave(struct run *run, struct error *ret_error) {
    struct timeline *timeline = &run->runner->timeline;
    if (!timeline->current->image)
        return error_set(ret_error, ESTALE, "the session could not be brought back: its state is not kept");
    timeline_hold(timeline);
    return 0;
}

/* Goes back to where the run has left the session, if it has. Whether that is there again. */
static bool come_back(struct run *run) {
    struct runner *runner = run->runner;
    const struct timeline *timeline = &runner->timeline;
    struct error error;
    if (!timeline->held)
        return false;
    if (timeline->current != timeline->held && enter(runner, timeline->held, &error) < 0) {
        log_write(runner->log, LOG_LEVEL_ERROR, "the session is not where it was before a cell: %s", error.text);
        return false;
    }
    return true;
}

/* The session is as it was, unless a fresh run has taken a number since. */
static void give_back_number(const struct run *run) {
    struct runner *runner = run->runner;
    if (runner->execution_count != run->asked.execution_count)
        return;
    runner->execution_count--;
    missed_remove(&runner->missed, run->asked.execution_count);
}

void travel_end(struct run *run) {
    struct runner *runner = run->runner;
    const bool keeps = travel_keeps(run);
    if (run->beside || !runner->timeline.current)
        return;
    if (run->asked.spec.no_commit && run->asked.counts)
        give_back_number(run);
    timeline_let_go(&runner->timeline, !keeps && come_back(run));
    if (keeps && run->result.has_image) {
        if (run->asked.code)
            missed_remove_until(&runner->missed, run->asked.execution_count);
        add_step(run);
    }
    if (run->result.has_image)
        trim(runner);
}

void travel_tell(const struct runner *runner, struct timeline_node *node, char told[TRAVEL_TOLD_BYTES]) {
    struct timeline_way way;
    char text[TIMELINE_WAY_BYTES];
    timeline_measure_way(&runner->timeline, node, &way);
    snprintf(told, TRAVEL_TOLD_BYTES, "%s%s", timeline_tell_way(&runner->timeline, node, text, sizeof text),
             way.files > 0 && runner->writeback->on ? "; what was written to the folder on the disk stays there" : "");
}

static const char *tell_limits(const struct runner *runner, char *buf, size_t size) {
    char count[32], bytes[32];
    int n = snprintf(buf, size, "history %s, history_memory %s",
                     limits_text(UNIT_COUNT, runner->limits.values[LIMIT_HISTORY], count, sizeof count),
                     limits_text(UNIT_BYTES, runner->limits.values[LIMIT_HISTORY_MEMORY], bytes, sizeof bytes));
    if (runner->few_descriptors > 0)
        snprintf(buf + n, size - (size_t)n, ", and %" PRIu64 " open files of the kernel, which are few",
                 runner->few_descriptors);
    return buf;
}

struct timeline_node *travel_check(const struct runner *runner, struct timeline_node *node, struct error *ret_error) {
    char limits[192];
    if (node->image)
        return node;
    if (node->execution_count > 0)
        (void)error_set(ret_error, ESTALE, "the state after [%d] is gone: older ones make room for newer ones (%s)",
                        node->execution_count, tell_limits(runner, limits, sizeof limits));
    else
        (void)error_set(ret_error, ESTALE, "that state is gone: older ones make room for newer ones (%s)",
                        tell_limits(runner, limits, sizeof limits));
    return NULL;
}

struct timeline_node *travel_find(struct runner *runner, const char *text, struct error *ret_error) {
    struct timeline_node *node = timeline_find(&runner->timeline, text);
    if (node)
        return travel_check(runner, node, ret_error);
    const size_t n = timeline_count_ids(&runner->timeline, text);
    if (n > 1)
        (void)error_set(ret_error, ENOENT,
                        "the ids of %zu states begin with \"%.64s\"; give more of the one that is meant", n, text);
    else if (runner->timeline.current && strcmp(text, "first") == 0)
        (void)error_set(ret_error, ESTALE,
                        "the session's beginning is gone, and forgotten: there have been many cells");
    else
        (void)error_set(ret_error, ENOENT,
                        "no checkpoint, number of a cell or id of a run is \"%.64s\"; %%timeline lists them", text);
    return NULL;
}

static struct timeline_node *find_number(struct runner *runner, json_int_t number, struct error *ret_error) {
    struct timeline_node *node = number <= INT_MAX ? timeline_find_number(&runner->timeline, (int)number) : NULL;
    if (node)
        return travel_check(runner, node, ret_error);
    (void)error_set(ret_error, ENOENT, "no cell has the number %" JSON_INTEGER_FORMAT "; %%timeline lists them",
                    number);
    return NULL;
}

static struct timeline_node *find_by(struct runner *runner, const json_t *undo, const json_t *redo,
                                     struct error *ret_error) {
    const unsigned n = (unsigned)json_integer_value(undo ? undo : redo);
    struct timeline_node *node = undo ? timeline_before(&runner->timeline, n) : timeline_after(&runner->timeline, n);
    if (node)
        return travel_check(runner, node, ret_error);
    (void)error_set(ret_error, ENOENT, "there is nothing to %s", undo ? "undo" : "redo");
    return NULL;
}

struct timeline_node *travel_find_asked(struct runner *runner, const json_t *content, struct error *ret_error) {
    const json_t *to = json_object_get(content, "to"), *undo = json_object_get(content, "undo"),
                 *redo = json_object_get(content, "redo");
    return !to                   ? find_by(runner, undo, redo, ret_error)
           : json_is_integer(to) ? find_number(runner, json_integer_value(to), ret_error)
                                 : travel_find(runner, json_string_value(to), ret_error);
}

/* Those of states that are gone take no room. */
static size_t count_names(const struct timeline *timeline) {
    size_t n = 0;
    for (size_t i = 0; i < timeline->n; i++)
        n += timeline->node[i]->image ? json_array_size(timeline->node[i]->names) : 0;
    return n;
}

/* So that the present state and the one before it have room, too. */
static int64_t most_names(const struct runner *runner) {
    const int64_t most = runner->limits.values[LIMIT_HISTORY] - 2;
    return most > 0 ? most : 1;
}

int travel_name(struct runner *runner, const char *name, struct error *ret_error) {
    struct timeline *timeline = &runner->timeline;
    const char *problem = image_name_problem(name);
    if (problem)
        return error_set(ret_error, EINVAL, "the name \"%.64s\" %s", name, problem);
    if (!timeline->current)
        return error_set(ret_error, EINVAL, "there is no session yet");
    if (!timeline_find_name(timeline, name) && (int64_t)count_names(timeline) >= most_names(runner))
        return error_set(ret_error, EINVAL,
                         "there are as many checkpoints as the limit history, %" PRId64
                         ", allows beside the present state and the one before it: %%forget one",
                         runner->limits.values[LIMIT_HISTORY]);
    return timeline_name(timeline, timeline->current, name) < 0 ? error_set(ret_error, ENOMEM, "there is no memory")
                                                                : 0;
}

/* A branch has all that is of its image, and the session nothing of it. */
static void begin_branch(struct run *run, struct timeline_node *node) {
    release_settled(run->runner, node);
    memcpy(run->result.parent, node->id, sizeof run->result.parent);
    run->asked.limits = node->state.limits;
    run->asked.session_limits = node->state.limits;
    comms_set(&run->own_comms, node->state.comms);
    run->own_files = json_incref(node->state.own_files);
}

/* Goes there, or has the branch begin there. */
static void start_at(struct run *run, struct timeline_node *node) {
    struct runner *runner = run->runner;
    struct error error;
    if (run->branch) {
        begin_branch(run, node);
        return;
    }
    if ((node != runner->timeline.current && travel_leave(run, &error) < 0) || travel_go(runner, node, &error) < 0)
        run_set_outcome(run, OUTCOME_SANDBOX, error.text);
    run->asked.limits = run->asked.session_limits = runner->limits;
}

int travel_start(struct run *run) {
    struct runner *runner = run->runner;
    const char *from = spec_from(json_object_get(run->request->message.metadata, "petri"));
    struct timeline_node *node = NULL;
    struct error error;
    if (!run->beside)
        note_numbers(runner);
    if (from && runner->timeline.current && (run->branch || !run->beside)) {
        node = travel_find(runner, from, &error);
        if (node)
            start_at(run, node);
        else
            run_set_outcome(run, OUTCOME_UNKNOWN, error.text);
    }
    const struct timeline_node *current = runner->timeline.current;
    if (current && !run->beside)
        memcpy(run->result.parent, current->id, sizeof run->result.parent);
    const bool is_elsewhere = run->branch && node;
    if (is_elsewhere || !run->beside)
        run->asked.missed = json_incref(is_elsewhere ? node->state.missed : runner->missed);
    return is_elsewhere ? node->state.execution_count : runner->execution_count;
}

struct kept_image *travel_origin(const struct run *run) {
    const struct timeline_node *node = timeline_find_id(&run->runner->timeline, run->result.parent);
    return node ? node->image : NULL;
}
