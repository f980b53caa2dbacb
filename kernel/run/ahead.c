/*
 * ahead.c - see ahead.h.
 *
 * Where a cell can't be made ahead, this is logged once, and the next request
 * tries again and reports why. What fails at the request alone is tried twice, too:
 * Linux may have been short of something for a moment.
 */

#include "ahead.h"

#include "kernel/base/clock.h"
#include "kernel/base/log.h"
#include "kernel/base/sandbox_error.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/policy/config.h"
#include "kernel/run/runner.h"
#include "kernel/run/travel.h"

#include <errno.h>

/* Makes a cell, in *ret_us microseconds. 0, or -errno with a sentence in ret_error. */
static int make_cell(struct runner *runner, const struct cell_options *options, struct cell **ret_cell, int64_t *ret_us,
                     struct error *ret_error) {
    struct error cause = {0};
    int64_t before_us = clock_us();
    int r = cell_create(runner->session, options, ret_cell, &cause);
    unsigned strays = session_take_strays(runner->session);
    if (strays > 0)
        log_write(runner->log, LOG_LEVEL_ERROR,
                  "%u processes that the session had not started were found outside of their sandbox, and ended; "
                  "please report this as a security problem",
                  strays);
    /* Where this fails, the report says that its inputs may not be complete. */
    if (r == 0 && runner->config->records.on && cell_watch_opened(*ret_cell) < 0)
        log_write(runner->log, LOG_LEVEL_DEBUG, "the files that a cell opens can't be watched");
    *ret_us = clock_us() - before_us;
    return r < 0 ? error_set_sandbox(ret_error, r, &cause) : 0;
}

bool ahead_has_time(void *arg) {
    const struct runner *runner = arg;
    return waiting_is_empty(&runner->waiting) && !channels_are_asked(&runner->jupyter->channels);
}

/* Makes the next cell. Returns as make_cell() does. */
static int make_next(struct runner *runner, struct error *ret_error) {
    const struct cell_options options = {
        .source = CELL_FROM_CURRENT, .role = CELL_OF_SESSION, .is_idle = ahead_has_time, .arg = runner};
    return make_cell(runner, &options, &runner->ahead, &runner->ahead_us, ret_error);
}

static bool is_due(const struct runner *runner) {
    return runner->state == RUNNER_IDLE && !runner->ahead && !runner->ahead_failed;
}

void ahead_watch(const struct runner *runner, struct poll_set *set) {
    if (is_due(runner))
        poll_set_deadline(set, 0);
}

int ahead_try(struct runner *runner, struct error *ret_error) {
    const int r = runner->ahead ? 0 : make_next(runner, ret_error);
    runner->ahead_failed = r < 0;
    return r;
}

void ahead_make(struct runner *runner) {
    struct error error;
    if (!is_due(runner) || ahead_try(runner, &error) == 0)
        return;
    log_write(runner->log, LOG_LEVEL_WARNING, "%s", error.text);
}

/* It may have been killed while it waited, where the machine is short of memory. */
static void discard_killed(struct runner *runner) {
    if (!runner->ahead || cell_is_whole(runner->ahead))
        return;
    cell_discard(steal_pointer(runner->ahead));
    log_write(runner->log, LOG_LEVEL_WARNING, "the cell that was made ahead has been killed; another one is made");
}

int ahead_take(struct run *run, struct error *ret_error) {
    struct runner *runner = run->runner;
    const struct cell_options beside = {.source = run->branch ? CELL_FROM_KEPT : CELL_FROM_FIRST,
                                        .kept = run->branch ? travel_origin(run) : NULL,
                                        .role = CELL_BESIDE};
    if (run->branch && !beside.kept)
        return error_set(ret_error, ESTALE, "the state after a cell can't be kept: it is gone");
    if (run->beside)
        return make_cell(runner, &beside, &run->now.cell, &run->result.sandbox_us, ret_error);
    discard_killed(runner);
    const bool has_tried = runner->ahead_failed;
    int r = ahead_try(runner, ret_error);
    if (r < 0 && !has_tried)
        r = ahead_try(runner, ret_error);
    if (r < 0)
        return r;
    run->now.cell = steal_pointer(runner->ahead);
    run->result.sandbox_us = runner->ahead_us;
    return 0;
}
