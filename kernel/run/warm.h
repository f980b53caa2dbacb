/*
 * warm.h - from a worker that has just been started to the first image.
 */
#ifndef PETRI_WARM_H
#define PETRI_WARM_H

#include "kernel/worker/exchange.h"
#include "kernel/worker/outputs.h"

struct runner;
struct session;

/* The end of a text: the last lines that a worker wrote before it failed to start. */
struct tail {
    size_t bytes;
    char text[320];
};

/* While the interpreter starts. */
struct warm {
    struct exchange exchange; /* with it */
    struct outputs outputs;   /* of it */
    struct tail tail;         /* of its standard error */
};

void warm_init(struct warm *warm);

/* Ends it, whatever has come of it. */
void warm_end(struct runner *runner);

/* Takes over a session whose worker has just been started, and waits for it to be ready. */
void warm_begin(struct runner *runner, struct session *session);

/* There will be no session: every run from now on is refused for this reason. */
void warm_give_up(struct runner *runner, const char *why);

/* What to wait for, and what is due, while the interpreter starts. */
void warm_watch(struct runner *runner, struct poll_set *set);
void warm_tick(struct runner *runner, int64_t now_us);

#endif
