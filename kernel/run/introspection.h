/*
 * introspection.h - requests that run beside the session's cell and change nothing.
 *
 * Completion, inspection and is-complete each run in a cell of their own, made
 * from the last committed image and always rolled back, with the limits of the
 * session's cells or smaller ones (limits_beside() in limits.h). They are
 * answered while the session's cell runs. One that takes longer than two seconds,
 * or goes over another limit, gets an empty reply and affects nothing else. Where
 * all slots are taken and another request waits, the one that has run longest is
 * ended once it has run for half a second.
 *
 * Who types asks for completions faster than they are read. The next completion that
 * a client asks for overtakes its last one: this gets an empty reply at once.
 */
#ifndef PETRI_INTROSPECTION_H
#define PETRI_INTROSPECTION_H

#include "kernel/jupyter/request.h"
#include "kernel/run/names.h"
#include "kernel/run/spare.h"
#include "kernel/worker/answer.h"
#include "kernel/worker/exchange.h"

struct jupyter;
struct runner;

/* What is particular to a kind of introspection. */
struct introspection_kind {
    const char *reply_type;
    enum answer_kind answer;
    json_t *(*frame)(const json_t *content);       /* the request for the worker */
    json_t *(*empty_reply)(const json_t *content); /* the reply where the worker gave none in time */
    bool is_overtaken; /* by the next of its kind from the same client, who needs no answer any more */
    /*
     * limit_ms: from the request's arrival to its reply. Where what it
     * needs has not been preloaded (preload.h), loading it counts only as
     * far as it leaves less than half of limit_ms: the worker's first frame
     * says that it is loaded. cold_ms from the arrival in any case.
     */
    int limit_ms, cold_ms;
};

extern const struct introspection_kind introspect_complete;
extern const struct introspection_kind introspect_inspect;
extern const struct introspection_kind introspect_is_complete;

enum { INTROSPECTIONS_AT_ONCE = 4 };

struct introspections {
    struct introspection {
        struct request *request; /* NULL where the slot is free */
        struct cell *cell;       /* owned */
        struct exchange exchange;
        struct names names;
        int64_t started_us;
        bool has_begun; /* what it needs is loaded */
    } slots[INTROSPECTIONS_AT_ONCE];
    struct request_queue waiting;
    struct spare spare;
};

void introspections_init(struct introspections *all);
void introspections_fini(struct introspections *all);

/* A request whose route is ROUTE_INTROSPECTION; takes it over. */
void introspections_submit(struct introspections *all, struct jupyter *jupyter, struct request *request);

/* Whether none runs or waits. */
bool introspections_are_idle(const struct introspections *all);

void introspections_watch(struct introspections *all, const struct runner *runner, struct poll_set *set);
void introspections_tick(struct introspections *all, struct runner *runner, int64_t now_us);

#endif
