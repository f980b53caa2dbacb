/*
 * validation.h - what a client expects of a run, checked from outside of it.
 *
 * Artifacts are checked here, by what was listed and measured. What needs
 * Python, a regular expression and a JSON Schema, runs in a throw-away cell of
 * image 0 for each check, within limits of its own: no code of the run has been
 * there, and a pattern that takes for ever costs its own check. The outcome of
 * the run stays what it was.
 */
#ifndef PETRI_VALIDATION_H
#define PETRI_VALIDATION_H

#include "kernel/worker/exchange.h"

struct cell;
struct run;
struct session;

/* The checks of one run, as far as they have come. */
struct validation {
    size_t next;       /* of the checks that need a cell */
    struct cell *cell; /* of the one that runs, owned; or NULL */
    struct exchange exchange;
};

void validation_init(struct validation *validation);
void validation_fini(struct validation *validation);

/* Goes on with what run->asked.spec expects, once the run's artifacts are known; rows go to run->result.checks. True
 * once all is done. */
bool validation_step(struct session *session, struct run *run, int64_t now_us);

void validation_watch(struct validation *validation, struct poll_set *set);

/* The checks that need a cell and have not ended fail, with this reason. */
void validation_cancel(struct run *run, const char *why);

/* Rows for a run that has left nothing to check: none of what was expected has come. */
void validation_fail(struct run *run, const char *why);

#endif
