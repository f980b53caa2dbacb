#include "rehearsal.h"

#include "kernel/clock.h"
#include "kernel/kernel.h"
#include "kernel/talk.h"

enum {
    MAX_FRAME_BYTES = 1 << 20,
    IDLE_MS = 300,   /* of idleness before it begins: clients open with a burst of requests */
    WALL_MS = 20000, /* on a machine that is busy; to load it all takes a second or two */
    CPU_MS = 10000,
    MEASURE_MS = 10, /* as sandbox.h asks for */
    MAX_TRIES = 5,
};

void rehearsal_init(struct rehearsal *rehearsal) {
    *rehearsal = (struct rehearsal){.due_us = CLOCK_NEVER, .measure_us = CLOCK_NEVER};
    worker_link_init(&rehearsal->link);
}

bool rehearsal_runs(const struct rehearsal *rehearsal) {
    return rehearsal->cell != NULL;
}

/* Whoever calls has committed the cell, or hands it over to be discarded. */
static void leave(struct rehearsal *rehearsal) {
    worker_link_detach(&rehearsal->link);
    cell_discard(steal_pointer(rehearsal->cell));
    rehearsal->due_us = rehearsal->measure_us = CLOCK_NEVER;
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

static void start(struct kernel *kernel, int64_t now_us) {
    struct rehearsal *rehearsal = &kernel->rehearsal;
    const struct cell_limits limits = {.memory_bytes = (uint64_t)kernel->limits.values[LIMIT_MEMORY],
                                       .processes = (unsigned)kernel->limits.values[LIMIT_PROCESSES],
                                       .cpus = (unsigned)kernel->limits.values[LIMIT_CPUS]};
    json_auto_t *frame = json_pack("{s:s}", "type", "warm");
    rehearsal->cell = steal_pointer(kernel->runner.armed);
    rehearsal->due_us = now_us + WALL_MS * CLOCK_MS;
    rehearsal->measure_us = now_us + MEASURE_MS * CLOCK_MS;
    rehearsal->tries++;
    outputs_begin(&kernel->runner.outputs, 0, nowhere, NULL);
    int r = worker_link_attach(&rehearsal->link, cell_control_fd(rehearsal->cell), MAX_FRAME_BYTES);
    if (r == 0)
        r = talk_send(&rehearsal->link, frame, NULL, 0);
    if (r == 0)
        r = cell_start(rehearsal->cell, &limits);
    if (r < 0)
        leave(rehearsal);
}

static void commit(struct kernel *kernel) {
    struct rehearsal *rehearsal = &kernel->rehearsal;
    struct sandbox_error error = {0};
    struct cell_end end;
    if (cell_freeze(rehearsal->cell, &end, &error) == 0) {
        cell_commit(steal_pointer(rehearsal->cell));
        rehearsal->over = rehearsal->committed = true;
        log_write(&kernel->log, LOG_LEVEL_DEBUG, "the interpreter has rehearsed");
    }
    outputs_drain(&kernel->runner.outputs);
    leave(rehearsal);
}

static void take_frames(struct kernel *kernel) {
    struct rehearsal *rehearsal = &kernel->rehearsal;
    while (rehearsal->cell && worker_link_has_more(&rehearsal->link)) {
        struct wire_frame frame;
        enum wire_type type;
        const char *why;
        int r = worker_link_next(&rehearsal->link, &frame, &type, &why);
        if (r == 0)
            return;
        if (r < 0) {
            leave(rehearsal);
            return;
        }
        if (type == WIRE_DONE)
            commit(kernel);
        else if ((type != WIRE_PUBLISH && type != WIRE_SYNC) || talk_ack(&rehearsal->link, frame.json) < 0)
            leave(rehearsal);
        wire_frame_fini(&frame);
    }
}

static void link_ready(struct kernel *kernel, void *arg, short events) {
    struct rehearsal *rehearsal = arg;
    if (rehearsal->cell && (worker_link_serve(&rehearsal->link, events) < 0 || rehearsal->link.ended))
        leave(rehearsal);
    take_frames(kernel);
}

/*
 * Whether the runner has nothing to do, and a cell made ahead of an image in
 * which no user's code has been: whatever that has left in the place of what the
 * worker is asked for would run without a request, a record or a user's limits.
 */
static bool is_wanted(const struct kernel *kernel) {
    const struct runner *runner = &kernel->runner;
    return !kernel->rehearsal.over && !runner->touched && runner->state == RUNNER_IDLE && runner->armed &&
           !runner->pending.first;
}

/* Gives up what has used more than it may. */
static void measure(struct kernel *kernel, int64_t now_us) {
    struct rehearsal *rehearsal = &kernel->rehearsal;
    struct limits limits = kernel->limits;
    struct cell_usage usage = {0};
    limits_settle(&limits);
    rehearsal->measure_us = now_us + MEASURE_MS * CLOCK_MS;
    cell_measure(rehearsal->cell, &usage);
    if (usage.over_memory || usage.over_in_flight || usage.replaced ||
        (int64_t)usage.cpu_us > clock_sooner(CPU_MS, limits.values[LIMIT_CPU]) * CLOCK_MS)
        leave(rehearsal);
}

void rehearsal_watch(struct kernel *kernel, struct poll_set *set) {
    struct rehearsal *rehearsal = &kernel->rehearsal;
    poll_set_deadline(set, clock_sooner(rehearsal->due_us, rehearsal->measure_us));
    if (rehearsal->cell)
        poll_set_add_fd(set, rehearsal->link.fd, worker_link_events(&rehearsal->link), link_ready, rehearsal);
}

void rehearsal_tick(struct kernel *kernel, int64_t now_us) {
    struct rehearsal *rehearsal = &kernel->rehearsal;
    take_frames(kernel);
    if (rehearsal->cell) {
        if (rehearsal->due_us <= now_us)
            leave(rehearsal);
        else if (rehearsal->measure_us <= now_us)
            measure(kernel, now_us);
    } else if (!is_wanted(kernel)) {
        rehearsal->due_us = CLOCK_NEVER;
    } else if (rehearsal->due_us == CLOCK_NEVER) {
        rehearsal->due_us = now_us + IDLE_MS * CLOCK_MS;
    } else if (rehearsal->due_us <= now_us) {
        start(kernel, now_us);
    }
}
