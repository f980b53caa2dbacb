/*
 * validation.h - the checks of a run that its request asks for, made from outside of the run.
 *
 * Artifacts are checked by the kernel process, by the rows that it has made of
 * them. A regular expression and a JSON Schema need Python: each of these checks
 * runs in a cell of its own, made from image 0 and discarded afterwards, with its
 * own limits. So no code of the run takes part in it, and a pattern that takes
 * too long fails only its own check. Checks don't change the outcome of the run.
 */
#ifndef PETRI_VALIDATION_H
#define PETRI_VALIDATION_H

#include "kernel/worker/exchange.h"

struct cell;
struct session;
struct spec;
struct transcript;

/* The progress of one run's checks. */
struct validation {
    const struct spec *spec; /* what is expected; borrowed, as is what was put out */
    const struct transcript *transcript;
    json_t *rows;      /* of the report, owned; NULL for none */
    size_t next;       /* the check to make next, of those that need a cell */
    struct cell *cell; /* of the check that runs, owned; or NULL */
    struct exchange exchange;
};

/* spec and transcript are borrowed for life: they are filled until the first step. */
void validation_init(struct validation *validation, const struct spec *spec, const struct transcript *transcript);
void validation_fini(struct validation *validation);

/* Advances the checks, once the rows of the run's artifacts are known. True once all are done. */
bool validation_step(struct validation *validation, struct session *session, const json_t *artifact_rows,
                     int64_t now_us);

void validation_watch(struct validation *validation, struct poll_set *set);

/* Whether a check of it runs in a cell, and whether it has one that is to. */
bool validation_has_cell(const struct validation *validation);
bool validation_wants_cell(const struct validation *validation);

/* Fails the checks that need a cell and have not ended, with this reason. */
void validation_cancel(struct validation *validation, const char *why);

/* The rows, which are the caller's; NULL where nothing was expected. For a run that has left nothing to check, so that
 * no step was taken, fails all checks, with this reason. */
json_t *validation_end(struct validation *validation, const char *why);

#endif
