#include "flow.h"

#include "kernel/base/clock.h"
#include "kernel/jupyter/jupyter.h"

enum {
    LOOK_AGAIN_MS = 2, /* nobody tells when messages leave: libzmq says that XPUB can always be written to */
    PATIENCE_S = 45,   /* longer than TCP's, which costs nobody else anything */
};
#define MAX_BYTES ((size_t)32 << 20)

void flow_init(struct flow *flow) {
    *flow = (struct flow){.max_bytes = MAX_BYTES, .patience_us = PATIENCE_S * CLOCK_S};
}

static bool is_full(const struct jupyter *jupyter) {
    return channels_unsent_bytes(&jupyter->channels) >= jupyter->flow.max_bytes;
}

bool flow_holds(const struct jupyter *jupyter) {
    return !jupyter->flow.stuck && is_full(jupyter);
}

bool flow_drops(const struct jupyter *jupyter) {
    return jupyter->flow.stuck && is_full(jupyter);
}

void flow_watch(const struct jupyter *jupyter, struct poll_set *set) {
    if (flow_holds(jupyter))
        poll_set_deadline(set, clock_us() + LOOK_AGAIN_MS * CLOCK_MS);
}

void flow_tick(struct jupyter *jupyter, int64_t now_us) {
    struct flow *flow = &jupyter->flow;
    size_t unsent = channels_unsent_bytes(&jupyter->channels);
    bool was_full = flow->full;
    flow->full = unsent >= flow->max_bytes;
    if (!flow->full) {
        flow->stuck = false;
    } else if (!was_full || unsent < flow->least_bytes) {
        flow->least_bytes = unsent;
        flow->moved_us = now_us;
        flow->stuck = false;
    } else if (!flow->stuck && now_us - flow->moved_us >= flow->patience_us) {
        flow->stuck = true;
        log_write(jupyter->log, LOG_LEVEL_WARNING, "a client does not read what is published: output is dropped");
    }
}
