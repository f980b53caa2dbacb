/*
 * compact.c - see compact.h.
 *
 * A look is one read of /proc, so every version of the session gets one. Whoever sends a
 * request while huge pages are made waits for one of them, some milliseconds, and for a
 * cell to be made. A large session takes several looks, with the loop's turns between.
 */

#include "compact.h"

#include "kernel/base/clock.h"
#include "kernel/base/load.h"
#include "kernel/base/log.h"
#include "kernel/run/ahead.h"
#include "kernel/run/runner.h"
#include "kernel/run/spare.h"

enum {
    IDLE_MS = 500,   /* of idleness before the look: later than all else that is made ahead */
    AGAIN_MS = 1000, /* where all processors are busy */
    MOST_MS = 200,   /* at once: signals and timers wait for it */
    GROWTH_BYTES = 8 << 20,
};

void compact_init(struct compact *compact) {
    *compact = (struct compact){.due_us = CLOCK_NEVER};
}

void compact_watch(const struct compact *compact, struct poll_set *set) {
    poll_set_deadline(set, compact->due_us);
}

struct patience {
    struct runner *runner;
    int64_t until_us;
};

static bool has_time(void *arg) {
    const struct patience *patience = arg;
    return clock_us() < patience->until_us && ahead_has_time(patience->runner);
}

/* Whether nothing is left to do for this version. */
static bool put_into_huge_pages(struct runner *runner, struct spare *spare) {
    struct patience patience = {runner, clock_us() + MOST_MS * CLOCK_MS};
    size_t n = 0;
    cell_discard(steal_pointer(runner->ahead));
    spare_fini(spare);
    int r = session_compact(runner->session, has_time, &patience, &n);
    if (n > 0)
        log_write(runner->log, LOG_LEVEL_DEBUG, "%zu huge pages were made of the session's memory", n);
    return r != 0;
}

static void look(struct compact *compact, struct runner *runner, struct spare *spare) {
    const uint64_t grown = session_grown_bytes(runner->session);
    const bool is_large = grown >= compact->grown_bytes + GROWTH_BYTES;
    compact->due_us = CLOCK_NEVER;
    if (is_large && !put_into_huge_pages(runner, spare))
        return;
    compact->version = runner->version;
    if (is_large || grown < compact->grown_bytes)
        compact->grown_bytes = grown;
}

void compact_tick(struct compact *compact, struct runner *runner, struct spare *spare, bool is_idle, int64_t now_us) {
    if (!is_idle || runner->state != RUNNER_IDLE || !runner->ahead || !runner_is_unused(runner) ||
        compact->version == runner->version)
        compact->due_us = CLOCK_NEVER;
    else if (compact->due_us == CLOCK_NEVER)
        compact->due_us = now_us + IDLE_MS * CLOCK_MS;
    else if (compact->due_us > now_us)
        return;
    else if (load_leaves_processor())
        look(compact, runner, spare);
    else
        compact->due_us = now_us + AGAIN_MS * CLOCK_MS;
}
