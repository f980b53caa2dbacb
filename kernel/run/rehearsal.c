#include "rehearsal.h"

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

void rehearsal_init(struct rehearsal *rehearsal) {
    *rehearsal = (struct rehearsal){.begin_us = CLOCK_NEVER};
    exchange_init(&rehearsal->exchange);
}

bool rehearsal_runs(const struct rehearsal *rehearsal) {
    return rehearsal->cell != NULL;
}

/* Whoever calls has committed the cell, or hands it over to be discarded. */
static void leave(struct rehearsal *rehearsal) {
    exchange_close(&rehearsal->exchange);
    cell_discard(steal_pointer(rehearsal->cell));
    rehearsal->over |= rehearsal->tries >= MAX_TRIES;
}

void rehearsal_cancel(struct rehearsal *rehearsal) {
    if (rehearsal->cell)
        leave(rehearsal);
}

static void nowhere(void *arg, const char *name, const char *data, size_t bytes) {
    (void)arg;
    (void)name;
    (void)data;
    (void)bytes;
}

static void start(struct rehearsal *rehearsal, struct runner *runner, int64_t now_us) {
    struct limits limits = runner->limits;
    json_auto_t *frame = json_pack("{s:s}", "type", "warm");
    limits_settle(&limits);
    limits.values[LIMIT_CPU] = clock_sooner(CPU_MS, limits.values[LIMIT_CPU]);
    const struct exchange_options options = {.max_frame_bytes = MAX_FRAME_BYTES,
                                             .due_us = now_us + WALL_MS * CLOCK_MS,
                                             .limits = &limits,
                                             .is_watched = session_is_watched(runner->session)};
    rehearsal->cell = steal_pointer(runner->ahead);
    rehearsal->begin_us = CLOCK_NEVER;
    rehearsal->tries++;
    outputs_begin(&runner->outputs, 0, nowhere, NULL);
    if (exchange_start(&rehearsal->exchange, rehearsal->cell, frame, &options) < 0)
        leave(rehearsal);
}

static void commit(struct rehearsal *rehearsal, struct runner *runner) {
    struct sandbox_error error = {0};
    struct cell_end end;
    if (cell_freeze(rehearsal->cell, &end, &error) == 0) {
        cell_commit(steal_pointer(rehearsal->cell));
        rehearsal->over = runner->rehearsed = true;
        log_write(runner->log, LOG_LEVEL_DEBUG, "the interpreter has rehearsed");
    }
    outputs_drain(&runner->outputs);
}

/*
 * Whether the runner has nothing to do, and a cell made ahead of an image in
 * which no user's code has been: whatever that has left in the place of what the
 * worker is asked for would run without a request, a record or a user's limits.
 */
static bool is_wanted(const struct rehearsal *rehearsal, const struct runner *runner) {
    return !rehearsal->over && !runner->touched && runner->state == RUNNER_IDLE && runner->ahead &&
           !runner->pending.first;
}

void rehearsal_watch(struct rehearsal *rehearsal, struct poll_set *set) {
    poll_set_deadline(set, rehearsal->begin_us);
    exchange_watch(&rehearsal->exchange, set);
}

void rehearsal_tick(struct rehearsal *rehearsal, struct runner *runner, int64_t now_us) {
    exchange_tick(&rehearsal->exchange, now_us);
    if (rehearsal->exchange.state == EXCHANGE_DONE)
        commit(rehearsal, runner);
    if (exchange_has_ended(&rehearsal->exchange))
        leave(rehearsal);
    if (rehearsal->cell)
        return;
    if (!is_wanted(rehearsal, runner))
        rehearsal->begin_us = CLOCK_NEVER;
    else if (rehearsal->begin_us == CLOCK_NEVER)
        rehearsal->begin_us = now_us + IDLE_MS * CLOCK_MS;
    else if (rehearsal->begin_us <= now_us)
        start(rehearsal, runner, now_us);
}
