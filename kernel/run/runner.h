/*
 * runner.h - the session and the one cell that runs in it.
 *
 *     WARMING --ready--> IDLE --begin--> RUNNING --conclude--> IDLE
 *        \--death, never ready--> UNAVAILABLE
 *
 * and, while there is a run, its phase (run.h):
 *
 *     RUN_BEGINS --started--> RUN_WORKS --done, frozen--> RUN_COLLECTS --its files, its checks--> RUN_OVER
 *          \--refused, cached--> RUN_OVER   \--death, a limit--> RUN_FAILED --discarded--> RUN_OVER
 *
 * Requests that run as cells wait in one queue and run one after another. A
 * cell is made ahead of time whenever the runner is idle, so that a request
 * only has to start it.
 *
 * What happens while the loop serves its descriptors is marked: in the exchange
 * with the worker, or by run_fail(). runner_tick() alone takes a run from phase
 * to phase, and the loop alone begins and concludes one. The sources that share
 * this state are few: runner.c, warm.c (WARMING), watchdog.c, input.c, messages.c
 * (RUN_WORKS) and collect.c (RUN_COLLECTS); each is called by runner.c and calls
 * none of the others but input.c.
 */
#ifndef PETRI_RUNNER_H
#define PETRI_RUNNER_H

#include "base/cleanup.h"
#include "kernel/run/run.h"
#include "kernel/worker/exchange.h"
#include "kernel/worker/outputs.h"

struct accounts;
struct comms;
struct config;
struct history;
struct info;
struct jupyter;
struct export;
struct writeback;

enum runner_state {
    RUNNER_UNAVAILABLE, /* there is no session: why says what is missing, and nothing runs */
    RUNNER_WARMING,     /* the interpreter starts */
    RUNNER_IDLE,        /* there is an image, and perhaps a cell made ahead */
    RUNNER_RUNNING,
};

/* The end of a text: the last lines of a worker that could not start. */
struct tail {
    size_t bytes;
    char text[320];
};

struct runner {
    /* What it works with: borrowed, and set before the first request. */
    const struct log *log;
    struct jupyter *jupyter;
    struct info *info;
    struct comms *comms;
    struct history *history;
    struct export *export;
    struct writeback *writeback;
    struct accounts *accounts;
    const struct config *config;
    struct patterns *refused; /* of code that is not run; NULL for none */
    enum profile profile;

    struct limits limits; /* in force for the next cell */
    int64_t grace_us;     /* from an interrupt until a cell that does not listen is ended */
    int64_t stack_us;     /* from the time limit until a cell that sends no stack is ended */
    int64_t hold_us;      /* from a cell's end, how long its reply waits for what widgets have taken: captures.h */
    json_t *known_inputs; /* hashes of files that have not changed: inputs_read.h; owned */

    enum runner_state state;
    char why[640]; /* RUNNER_UNAVAILABLE */
    struct session *session;
    struct exchange exchange; /* with the starting worker, or with the running cell */
    struct outputs outputs;
    struct tail tail;   /* of standard error while the interpreter starts */
    char note[512];     /* a line shown under the first cell that shows output; "" for none */
    struct cell *ahead; /* made ahead, not started; or NULL */
    int64_t ahead_us;   /* what making it took */
    bool preloaded;     /* it has loaded what the first error and completion need: preload.h */
    bool touched;       /* user's code has been in the session's image: run_brings_code() */
    bool ahead_failed;  /* the next request will find out why */
    struct run *run;    /* RUNNER_RUNNING, or refused and not concluded yet; else NULL */
    uint64_t n_runs;
    struct run_parents parents;
    int execution_count;
    struct request_queue pending;
};

/* All but what it works with. 0 or -ENOMEM. */
int runner_init(struct runner *runner) MUST_CHECK;
void runner_fini(struct runner *runner);

/* A request whose route is ROUTE_CELL; takes it over. It runs when its turn comes. */
void runner_submit(struct runner *runner, struct request *request);

/* Ctrl-C to the running cell; one that does not listen is ended after the grace. */
void runner_interrupt(struct runner *runner);

/* Whether there is an image that cells can be made of. */
bool runner_has_image(const struct runner *runner);

/* What to wait for; and what is due of the run, or of the interpreter that starts. */
void runner_watch(struct runner *runner, struct poll_set *set);
void runner_tick(struct runner *runner, int64_t now_us);

/*
 * The loop's part, in this order, again and again until nothing can begin: a
 * request that is refused is over at once, so there may be several.
 */

/* Whether a run is over that aborts the requests behind it: before it is concluded, all that have arrived have to be
 * queued. */
bool runner_aborts(const struct runner *runner);

/* Answers and commits a run that is over; else does nothing. */
void runner_conclude(struct runner *runner);

/* Whether a request waits that can begin, and to begin it: it runs then, or is over. */
bool runner_can_begin(const struct runner *runner);
void runner_begin(struct runner *runner);

/* Makes the next cell ahead, if the runner is idle and has none. */
void runner_make_ahead(struct runner *runner);

#endif
