/*
 * preload.c - once the runner is idle, runs the preload in the cell made ahead, and commits it.
 *
 * It takes the cell that the runner has made ahead, and a request discards the
 * preload before it begins. Its output stays in the session's pipes, where the next
 * run discards it (outputs_begin()). After MAX_TRIES it is given
 * up, because on a machine where it never ends it would only use time.
 */

#include "preload.h"

#include "kernel/base/clock.h"
#include "kernel/base/load.h"
#include "kernel/base/log.h"
#include "kernel/run/runner.h"
#include "kernel/run/travel.h"

enum {
    MAX_FRAME_BYTES = 1 << 20,
    IDLE_MS = 300,   /* of idleness before it begins: clients open with a burst of requests */
    WALL_MS = 20000, /* on a busy machine; usually loading takes a second or two */
    CPU_MS = 10000,
    MAX_TRIES = 5,   /* of each portion */
    AGAIN_MS = 1000, /* where all processors are busy */
};

/* In this order; the second takes ten times as long. */
static const char *const portions[PRELOAD_PORTIONS] = {"errors", "completions"};

void preload_init(struct preload *preload) {
    *preload = (struct preload){.begin_us = CLOCK_NEVER};
    exchange_init(&preload->exchange);
}

bool preload_runs(const struct preload *preload) {
    return preload->cell != NULL;
}

/* Ends the preload. Discards its cell, unless the caller has committed it. */
static void end_preload(struct preload *preload) {
    exchange_close(&preload->exchange);
    cell_discard(steal_pointer(preload->cell));
    preload->over |= preload->tries >= MAX_TRIES;
}

void preload_cancel(struct preload *preload) {
    if (preload->cell)
        end_preload(preload);
}

static void start_preload(struct preload *preload, struct runner *runner, int64_t now_us) {
    struct limits limits = runner->limits;
    json_auto_t *frame = json_pack("{s:s, s:s}", "type", "warm", "portion", portions[preload->n_done]);
    limits_resolve(&limits);
    limits.values[LIMIT_CPU] = clock_sooner(CPU_MS, limits.values[LIMIT_CPU]);
    const struct exchange_options options = {.max_frame_bytes = MAX_FRAME_BYTES,
                                             .due_us = now_us + WALL_MS * CLOCK_MS,
                                             .limits = &limits,
                                             .is_watched = session_is_watched(runner->session)};
    preload->cell = steal_pointer(runner->ahead);
    preload->begin_us = CLOCK_NEVER;
    preload->tries++;
    if (exchange_start(&preload->exchange, preload->cell, frame, &options) < 0)
        end_preload(preload);
}

static void commit(struct preload *preload, struct runner *runner) {
    struct error error = {0};
    struct cell_end end;
    if (cell_freeze(preload->cell, &end, &error) == 0) {
        cell_commit(steal_pointer(preload->cell));
        travel_note(runner);
        log_write(runner->log, LOG_LEVEL_DEBUG, "the interpreter has preloaded what is needed for %s",
                  portions[preload->n_done]);
        preload->n_done++;
        preload->tries = 0;
        preload->over = runner->preloaded = preload->n_done == PRELOAD_PORTIONS;
        runner->version++;
    }
}

/*
 * Whether nothing runs or waits, and there is a cell made from an image in which no
 * user's code has run. User code could have replaced what the worker runs for the
 * preload; that would then run without a request, a record and the user's limits.
 */
static bool is_wanted(const struct preload *preload, const struct runner *runner) {
    return !preload->over && !runner->has_user_code && runner->state == RUNNER_IDLE && runner->ahead &&
           runner_is_unused(runner);
}

void preload_watch(struct preload *preload, struct poll_set *set) {
    poll_set_deadline(set, preload->begin_us);
    exchange_watch(&preload->exchange, set);
}

void preload_tick(struct preload *preload, struct runner *runner, int64_t now_us) {
    exchange_tick(&preload->exchange, now_us);
    if (preload->exchange.state == EXCHANGE_DONE)
        commit(preload, runner);
    if (exchange_has_ended(&preload->exchange))
        end_preload(preload);
    if (preload->cell)
        return;
    if (!is_wanted(preload, runner))
        preload->begin_us = CLOCK_NEVER;
    else if (preload->begin_us == CLOCK_NEVER)
        preload->begin_us = now_us + IDLE_MS * CLOCK_MS;
    else if (preload->begin_us > now_us)
        return;
    else if (load_leaves_processor())
        start_preload(preload, runner, now_us);
    else
        preload->begin_us = now_us + AGAIN_MS * CLOCK_MS;
}
