/*
 * runner.h - the session and the runs in it: its own, and fresh ones beside it.
 *
 *     WARMING --ready--> IDLE --begin--> RUNNING --conclude--> IDLE
 *        \--death, never ready--> UNAVAILABLE
 *
 * and, for each run, its phase (run.h):
 *
 *     RUN_BEGINS --started--> RUN_WORKS --done, frozen--> RUN_COLLECTS --its files, its checks--> RUN_OVER
 *          \--refused, cached--> RUN_OVER   \--death, a limit--> RUN_FAILED --discarded--> RUN_OVER
 *
 * The first drawing is of the session's own run, of which there is one at a time.
 * Fresh runs don't touch the session, so they begin and are concluded beside it, in
 * IDLE and in RUNNING, and change neither:
 *
 *     own      ---[ 1 ]--[  2  ]-----[ 3 ]---   1, 2, 3: each from the image of the one before
 *     beside   -----[    4   ]---------------   4, 5, 6: each from image 0, and discarded
 *     beside   ------[  5  ]---[ 6 ]---------
 *
 * How many run at once, and which request begins next, is in places.h. A cell is made
 * ahead of time whenever the session's own place is free, so that its next request
 * only has to start it.
 *
 * Handlers that the loop calls for a descriptor only note what has happened: in
 * the exchange with the worker, or with run_fail(). Only runner_tick() changes a
 * run's phase otherwise, and only the loop begins and concludes a run. These
 * sources share this state: runner.c, places.c, travel.c, warm.c (WARMING), ahead.c (RUN_BEGINS), work.c,
 * watchdog.c, input.c, messages.c and stream.c (RUN_WORKS), and collect.c
 * (RUN_COLLECTS). runner.c calls warm.c, work.c and collect.c, and work.c the
 * others, which call none of each other but input.c and stream.c.
 */
#ifndef PETRI_RUNNER_H
#define PETRI_RUNNER_H

#include "base/cleanup.h"
#include "kernel/policy/limits_show.h"
#include "kernel/run/places.h"
#include "kernel/run/run.h"
#include "kernel/run/warm.h"
#include "kernel/timeline/timeline.h"

struct accounts;
struct comms;
struct config;
struct history;
struct info;
struct jupyter;
struct export;
struct writeback;

enum runner_state {
    RUNNER_UNAVAILABLE, /* there is no session and nothing runs; why says the reason */
    RUNNER_WARMING,     /* the interpreter starts */
    RUNNER_IDLE,        /* there is an image, and perhaps a cell made ahead; fresh runs may run */
    RUNNER_RUNNING,     /* the session's own run does */
};

struct runner {
    /* Set before the first request; pointers are borrowed. */
    const struct log *log;
    struct jupyter *jupyter;
    struct info *info;
    struct comms *comms;
    struct history *history;
    struct export *export;
    struct writeback *writeback;
    struct accounts *accounts;
    const struct config *config;
    struct patterns *refused; /* code that matches one is not run; NULL for none */
    const struct profile *profile;

    struct limits limits; /* in force for the next cell */
    struct limits_used used;
    int64_t grace_us;     /* from an interrupt until a cell that goes on is ended */
    int64_t stack_us;     /* from the time limit until a cell that does not send its stack is ended */
    int64_t hold_us;      /* how long a reply waits for front ends to answer captured output: captures.h */
    json_t *known_inputs; /* hashes of files that have not changed: inputs_read.h; owned */

    enum runner_state state;
    char why[640];    /* RUNNER_UNAVAILABLE */
    const char *mend; /* what to do then, where it is not petri doctor that says so; or NULL */
    struct session *session;
    struct warm warm;
    bool told_network;        /* a cell has been told that there is no network */
    bool told_files;          /* a cell has been told what holds for all files: artifacts_note */
    char note[1024];          /* written to the stderr of the first cell that is not silent; "" for nothing */
    struct cell *ahead;       /* made ahead, not started; or NULL */
    int64_t ahead_us;         /* what making it took */
    struct timeline timeline; /* travel.h */
    uint64_t few_descriptors; /* the limit of open files, where that has made images go; 0: it has not */
    int64_t trim_us;          /* when to look whether its images hold more than they may; CLOCK_NEVER: they don't */
    uint64_t version;         /* of the session's image and files: another one after each that may have changed them */
    bool preloaded;           /* the image has what the first error and completion need: preload.h */
    bool has_user_code;       /* user's code may have run in the session's image: run_brings_code() */
    bool ahead_failed;        /* the next request tries again, and reports why */
    struct run *runs[PLACES]; /* that have begun and are not concluded, in the order of their beginning; owned */
    size_t n_runs;
    struct run *own;      /* the one of them that is the session's own: RUNNER_RUNNING, or refused; else NULL */
    uint64_t n_begun;     /* runs so far */
    uint64_t n_questions; /* of all runs so far */
    struct run_parents parents;
    int execution_count; /* of the last cell of the session */
    bool is_serving;     /* it serves others while the sandbox works: nothing may begin, end or move */
    json_t *missed;      /* cells that the history of inputs in its image lacks: missed.h; owned, or NULL */
    struct waiting waiting;
    struct request_queue travels; /* requests about images that wait: control_travel.h */
};

/* Sets all fields but those that are set before the first request. 0 or -ENOMEM. */
int runner_init(struct runner *runner) MUST_CHECK;
void runner_fini(struct runner *runner);

/* A request whose route is ROUTE_CELL; takes it over. It runs when its turn comes. */
void runner_submit(struct runner *runner, struct request *request);

/* Sends SIGINT to each running cell; one that goes on is ended after grace_us. */
void runner_interrupt(struct runner *runner);

/* The same for the cell of the request with this msg_id. One that waits is aborted. Nothing happens where there is
 * none. */
void runner_interrupt_one(struct runner *runner, const char *msg_id);

/* Whether there is an image that cells can be made of. */
bool runner_has_image(const struct runner *runner);

/* The run that is shown where there is place for one: the session's own, or a fresh one; NULL for none. */
const struct run *runner_shown(const struct runner *runner);

/* Whether nothing runs and nothing waits. */
bool runner_is_unused(const struct runner *runner);

/* What to wait for, and what is due: advances all runs, or the start of the interpreter. */
void runner_watch(struct runner *runner, struct poll_set *set);
void runner_tick(struct runner *runner, int64_t now_us);

/*
 * The loop calls these in this order, repeatedly until one has begun that got a cell,
 * or none can begin: a request that is refused is over at once, so several may begin in
 * one turn.
 */

/*
 * Whether the session's own run is over and aborts the requests that wait for it to
 * be over (stop_on_error). The loop then queues all requests that have arrived
 * before it concludes the run. A fresh run aborts nothing, and no fresh request is
 * aborted: none depends on another, and when each begins is a matter of time.
 */
bool runner_aborts(const struct runner *runner);

/* Answers and commits, or discards, each run that is over. */
void runner_conclude(struct runner *runner);

/* Whether a request waits and can begin. runner_begin() begins it: then its cell runs, and the result is true, or it is
 * over. */
bool runner_can_begin(const struct runner *runner);
bool runner_begin(struct runner *runner);

#endif
