/*
 * spare.c - see spare.h.
 *
 * One deadline serves for both states: without a cell it says when to make one, with
 * a cell when to give it up. A spare cell that can't be made is no fault of a
 * request's, so nothing is told of it: the next request makes its own, and says why
 * it can't.
 */

#include "spare.h"

#include "kernel/base/clock.h"
#include "kernel/base/log.h"
#include "kernel/run/ahead.h"
#include "kernel/run/runner.h"

enum {
    IDLE_MS = 200,  /* of idleness before it is made: a run that comes meanwhile would wait for some milliseconds */
    TYPING_MS = 30, /* the same after a completion, for who types goes on */
    KEEP_S = 300,   /* who has not typed for so long needs no memory for it */
    UNUSED_MAX = 3, /* who runs cell after cell does not type */
};

void spare_init(struct spare *spare) {
    *spare = (struct spare){.due_us = CLOCK_NEVER};
}

void spare_fini(struct spare *spare) {
    cell_discard(steal_pointer(spare->cell));
    spare->due_us = CLOCK_NEVER;
}

static bool is_current(const struct spare *spare, const struct runner *runner) {
    return spare->version == runner->version;
}

struct cell *spare_take(struct spare *spare, const struct runner *runner) {
    struct cell *cell = NULL;
    spare->is_wanted = true;
    spare->unused = 0;
    if (spare->cell && is_current(spare, runner) && cell_is_whole(spare->cell))
        cell = steal_pointer(spare->cell);
    spare_fini(spare);
    spare->version = runner->version;
    return cell;
}

static void make(struct spare *spare, struct runner *runner, int64_t now_us) {
    const struct cell_options options = {
        .source = CELL_FROM_CURRENT, .role = CELL_EPHEMERAL, .is_idle = ahead_has_time, .arg = runner};
    struct error cause = {0};
    spare->version = runner->version;
    spare->due_us = now_us + KEEP_S * CLOCK_S;
    if (cell_create(runner->session, &options, &spare->cell, &cause) == 0)
        return;
    spare->is_wanted = false;
    spare->due_us = CLOCK_NEVER;
    log_write(runner->log, LOG_LEVEL_DEBUG, "no cell can be made ahead for a completion");
}

/* Discards one that is out of date, or was kept for too long. */
static void give_up(struct spare *spare, const struct runner *runner, int64_t now_us) {
    const bool is_old = spare->due_us <= now_us;
    if (!spare->cell || (!is_old && is_current(spare, runner)))
        return;
    spare->unused++;
    spare->is_wanted = !is_old && spare->unused < UNUSED_MAX;
    spare_fini(spare);
}

/* The session's next cell comes first; while the interpreter preloads there is none. */
static bool may_be_made(const struct spare *spare, const struct runner *runner) {
    return spare->is_wanted && runner->state == RUNNER_IDLE && runner->ahead && runner_is_unused(runner);
}

void spare_watch(const struct spare *spare, struct poll_set *set) {
    poll_set_deadline(set, spare->due_us);
}

void spare_tick(struct spare *spare, struct runner *runner, bool is_idle, int64_t now_us) {
    give_up(spare, runner, now_us);
    if (spare->cell)
        return;
    if (!is_idle || !may_be_made(spare, runner))
        spare->due_us = CLOCK_NEVER;
    else if (spare->due_us == CLOCK_NEVER)
        spare->due_us = now_us + (is_current(spare, runner) ? TYPING_MS : IDLE_MS) * CLOCK_MS;
    else if (spare->due_us <= now_us)
        make(spare, runner, now_us);
}
