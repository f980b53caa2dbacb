/*
 * aside.h - requests that run beside the session's cell and change nothing.
 *
 * Completion, inspection and is-complete run in a throw-away copy of the last
 * committed image: each is a cell that is always rolled back, within the limits
 * in force for the session's cells or less (limits_beside() in limits.h). They
 * are answered while a cell runs, and one that takes longer than its two
 * seconds, or more of anything else than it may, costs its own answer only: where
 * all places are taken and another request waits, the one that has run for longest
 * gives way after half a second.
 */
#ifndef PETRI_ASIDE_H
#define PETRI_ASIDE_H

#include "kernel/jupyter/request.h"
#include "kernel/worker/answer.h"
#include "kernel/worker/exchange.h"

struct jupyter;
struct runner;

/* What is particular to a kind of aside. */
struct aside_kind {
    const char *reply_type;
    enum answer_kind answer;
    json_t *(*frame)(const json_t *content);     /* the request for the worker */
    json_t *(*otherwise)(const json_t *content); /* the answer where the worker gave none in time */
    /* What it has from the request's arrival to its answer; and where what it needs has not been loaded ahead
     * (preload.h), until it is loaded, which the worker's first frame says. From then on it has limit_ms again. */
    int limit_ms, cold_ms;
};

extern const struct aside_kind aside_complete;
extern const struct aside_kind aside_inspect;
extern const struct aside_kind aside_is_complete;

enum { ASIDES_AT_ONCE = 4 };

struct asides {
    struct aside {
        struct request *request; /* NULL where the slot is free */
        struct cell *cell;       /* owned */
        struct exchange exchange;
        int64_t started_us;
        bool has_begun; /* what it needs is loaded */
    } slots[ASIDES_AT_ONCE];
    struct request_queue waiting;
};

void asides_init(struct asides *asides);
void asides_fini(struct asides *asides);

/* A request whose route is ROUTE_ASIDE; takes it over. */
void asides_submit(struct asides *asides, struct jupyter *jupyter, struct request *request);

void asides_watch(struct asides *asides, const struct runner *runner, struct poll_set *set);
void asides_tick(struct asides *asides, struct runner *runner, int64_t now_us);

#endif
