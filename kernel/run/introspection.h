/*
 * introspection.h - requests that run beside the session's cell and change nothing.
 *
 * Completion, inspection and is-complete run in a throw-away copy of the last
 * committed image: each is a cell that is always rolled back, within the limits
 * in force for the session's cells or less (limits_beside() in limits.h). They
 * are answered while a cell runs, and one that takes longer than two seconds, or
 * passes another limit, loses its own answer only. Where all slots are taken and
 * another request waits, the one that has run for longest is ended after half a
 * second.
 */
#ifndef PETRI_INTROSPECTION_H
#define PETRI_INTROSPECTION_H

#include "kernel/jupyter/request.h"
#include "kernel/worker/answer.h"
#include "kernel/worker/exchange.h"

struct jupyter;
struct runner;

/* What is particular to a kind of introspection. */
struct introspection_kind {
    const char *reply_type;
    enum answer_kind answer;
    json_t *(*frame)(const json_t *content);     /* the request for the worker */
    json_t *(*otherwise)(const json_t *content); /* the answer where none came in time */
    /* How long it may take from the request's arrival to its answer; and, where what it needs is not preloaded
     * (preload.h), until that is loaded, which the worker's first frame says: from then on it has limit_ms again. */
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
        int64_t started_us;
        bool has_begun; /* what it needs is loaded */
    } slots[INTROSPECTIONS_AT_ONCE];
    struct request_queue waiting;
};

void introspections_init(struct introspections *all);
void introspections_fini(struct introspections *all);

/* A request whose route is ROUTE_INTROSPECTION; takes it over. */
void introspections_submit(struct introspections *all, struct jupyter *jupyter, struct request *request);

void introspections_watch(struct introspections *all, const struct runner *runner, struct poll_set *set);
void introspections_tick(struct introspections *all, struct runner *runner, int64_t now_us);

#endif
