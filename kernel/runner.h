/*
 * runner.h - the session and the one cell that runs in it.
 *
 *     WARMING --ready--> IDLE --begin--> RUNNING --done, death, limit--> IDLE
 *        \--death, never ready--> UNAVAILABLE
 *
 * Requests that run as cells wait in one queue and run one after another. A
 * cell is made ahead of time whenever the runner is idle, so that a request
 * only has to start it.
 */
#ifndef PETRI_RUNNER_H
#define PETRI_RUNNER_H

#include "kernel/outputs.h"
#include "kernel/poll_set.h"
#include "kernel/run.h"
#include "kernel/worker_link.h"

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
    enum runner_state state;
    char why[640]; /* RUNNER_UNAVAILABLE */
    struct session *session;
    struct worker_link link; /* to the starting worker, or to the running cell */
    struct outputs outputs;
    struct tail tail; /* of standard error while the interpreter starts */
    char note[512];   /* what the first cell that shows its output is told; "" for nothing */
    int64_t warm_deadline_us;
    struct cell *armed; /* made ahead, not started; or NULL */
    int64_t armed_us;   /* what making it took */
    bool touched;       /* user's code has been in the session's image: run_brings_code() */
    bool arming_failed; /* the next request will find out why */
    struct run *run;    /* RUNNER_RUNNING */
    uint64_t n_runs;
    struct run_parents parents;
    int execution_count;
    struct request_queue pending;
};

void runner_init(struct runner *runner);
void runner_fini(struct runner *runner);

/* There will be no session: says so to every request from now on. */
void runner_give_up(struct kernel *kernel, const char *why);

/* The worker is captured: cells can run. */
void runner_ready(struct kernel *kernel);

/* A request whose row is DISPATCH_CELL; takes it over. It runs when its turn comes. */
void runner_submit(struct kernel *kernel, struct request *request);

/* Ctrl-C to the running cell; one that does not listen is ended after the grace. */
void runner_interrupt(struct kernel *kernel);

/* Whether there is an image that cells can be made of. */
bool runner_has_image(const struct runner *runner);

/* The worker said that the running request is done; reply is borrowed. */
void runner_done(struct kernel *kernel, json_t *reply);

/* The running cell can't go on: it is discarded, and its request answered. The facts are those of kernel->runner.run.
 */
void runner_fail(struct kernel *kernel, enum outcome outcome);

/* The same for a cell whose descriptors in flight leave the user's programs none; see over_in_flight in sandbox.h. */
void runner_fail_in_flight(struct kernel *kernel);

/* The running cell broke the wire; why says how. */
void runner_broken(struct kernel *kernel, const char *why);

/* What to wait for, and what is due. */
void runner_watch(struct kernel *kernel, struct poll_set *set);
void runner_tick(struct kernel *kernel, int64_t now_us);

#endif
