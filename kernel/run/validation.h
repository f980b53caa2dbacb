/*
 * validation.h - checks what a client expects of a run, outside of its cell.
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
struct session;
struct spec;
struct transcript;

/* The checks of one run, as far as they have come. */
struct validation {
    const struct spec *spec; /* what is expected; borrowed, as is what was put out */
    const struct transcript *transcript;
    json_t *rows;      /* of the report, owned; NULL for none */
    size_t next;       /* of the checks that need a cell */
    struct cell *cell; /* of the one that runs, owned; or NULL */
    struct exchange exchange;
};

/* spec and transcript are borrowed for life: they are filled until the first step. */
void validation_init(struct validation *validation, const struct spec *spec, const struct transcript *transcript);
void validation_fini(struct validation *validation);

/* Takes the checks on, once the rows of the run's artifacts are known. True once all is done. */
bool validation_step(struct validation *validation, struct session *session, const json_t *artifact_rows,
                     int64_t now_us);

void validation_watch(struct validation *validation, struct poll_set *set);

/* The checks that need a cell and have not ended fail, with this reason. */
void validation_cancel(struct validation *validation, const char *why);

/* The rows, which are the caller's; NULL where nothing was expected. Where no step was taken, for the run has left
 * nothing to check, all that was expected fails, with this reason. */
json_t *validation_end(struct validation *validation, const char *why);

#endif
