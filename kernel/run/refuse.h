/*
 * refuse.h - code that the configuration's `refuse` names is not run: early and friendly feedback, which says where.
 *
 * Patterns are looked for here. Imports are the worker's to find, which parses
 * the code as Python does; whether it has anything to say is decided here.
 *
 * Nothing is enforced: code can import in ways that no text shows, and has been
 * in the worker before. What holds is the sandbox, and `packages`.
 */
#ifndef PETRI_REFUSE_H
#define PETRI_REFUSE_H

#include "kernel/run/run.h"

struct config;
struct patterns;

/* Sets the outcome where the code matches a pattern that is refused; code is a JSON string. refused: the patterns of
 * config, NULL for none. */
void refuse_check(const struct config *config, struct patterns *refused, struct run *run, const json_t *code);

/* The modules that the worker looks for, for the frame; NULL for none. Borrowed. */
const json_t *refuse_modules(const struct config *config);

/*
 * Whether a worker's reply is that it has not run the code, for an import that
 * is refused: then sets the outcome. It is no such reply where the module isn't
 * one of those, or the code has no such line.
 */
bool refuse_heard(const struct config *config, struct run *run, const json_t *reply);

#endif
