/*
 * preload.c - waits for idleness, takes the cell made ahead, and commits it.
 *
 * It takes the runner's own cell, so while it runs there is none ahead, and a
 * request discards the preload before it begins. Its output goes nowhere. After
 * MAX_TRIES it is given up: on a machine where it never ends in time it would
 * only cost.
 */

#include "preload.h"

#include "kernel/base/clock.h"
#include "kernel/base/log.h"
#include "kernel/run/runner.h"

enum {
    MAX_FRAME_BYTES = 1 << 20,
    IDLE_MS = 300,   /* of idleness before it begins: clients open with a burst of requests */
    WALL_MS = 20000, /* on a machine that is busy; to load it all takes a second or two */
    CPU_MS = 10000,
    MAX_TRIES = 5,
};

void preload_init(struct preload *preload) {
    *preload = (struct preload){.begin_us = CLOCK_NEVER};
    exchange_init(&preload->exchange);
}

bool preload_runs(const struct preload *preload) {
    return preload->cell != NULL;
}

/* The caller has committed the cell, or passes it to be discarded. */
static void leave(struct preload *preload) {
    exchange_close(&preload->exchange);
    cell_discard(steal_pointer(preload->cell));
    preload->over |= preload->tries >= MAX_TRIES;
}

void preload_cancel(struct preload *preload) {
    if (preload->cell)
        leave(preload);
}

static void nowhere(void *arg, const char *name, const char *data, size_t bytes) {
    (void)arg;
    (void)name;
    (void)data;
    (void)bytes;
}

static void start_preload(struct preload *preload, struct runner *runner, int64_t now_us) {
    struct limits limits = runner->limits;
    json_auto_t *frame = json_pack("{s:s}", "type", "warm");
    limits_resolve(&limits);
    limits.values[LIMIT_CPU] = clock_sooner(CPU_MS, limits.values[LIMIT_CPU]);
    const struct exchange_options options = {.max_frame_bytes = MAX_FRAME_BYTES,
                                             .due_us = now_us + WALL_MS * CLOCK_MS,
                                             .limits = &limits,
                                             .is_watched = session_is_watched(runner->session)};
    preload->cell = steal_pointer(runner->ahead);
    preload->begin_us = CLOCK_NEVER;
    preload->tries++;
    outputs_begin(&runner->outputs, 0, nowhere, NULL);
    if (exchange_start(&preload->exchange, preload->cell, frame, &options) < 0)
        leave(preload);
}

static void commit(struct preload *preload, struct runner *runner) {
    struct error error = {0};
    struct cell_end end;
    if (cell_freeze(preload->cell, &end, &error) == 0) {
        cell_commit(steal_pointer(preload->cell));
        preload->over = runner->preloaded = true;
        log_write(runner->log, LOG_LEVEL_DEBUG, "the interpreter has preloaded");
    }
    outputs_drain(&runner->outputs);
}

/*
 * Whether the runner is idle and has a cell made ahead of an image without the
 * user's code: that could have replaced what the worker is to load, and would run
 * without a request, a record or limits.
 */
static bool is_wanted(const struct preload *preload, const struct runner *runner) {
    return !preload->over && !runner->touched && runner->state == RUNNER_IDLE && runner->ahead &&
           !runner->pending.first;
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
        leave(preload);
    if (preload->cell)
        return;
    if (!is_wanted(preload, runner))
        preload->begin_us = CLOCK_NEVER;
    else if (preload->begin_us == CLOCK_NEVER)
        preload->begin_us = now_us + IDLE_MS * CLOCK_MS;
    else if (preload->begin_us <= now_us)
        start_preload(preload, runner, now_us);
}
