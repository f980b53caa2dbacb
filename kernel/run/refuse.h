/*
 * refuse.h - code that the configuration's `refuse` names is not run: early and friendly feedback, which says where.
 *
 * Patterns are looked for here. Imports are found by the worker, which parses the
 * code as Python does; its answer is checked here.
 *
 * Nothing is enforced by this: code can import in ways that its text does not
 * show, and may have changed the worker. The sandbox and `packages` enforce.
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
 * Whether a worker's reply says that the code was not run because of a refused
 * import: then sets the outcome. A reply with a module that is not refused, or a
 * line that the code does not have, is no such reply.
 */
bool refuse_heard(const struct config *config, struct run *run, const json_t *reply);

#endif
