/*
 * refuse.h - code that the configuration's `refuse` names is not run; the error says which line has it.
 *
 * Patterns are searched here. Imports are found by the worker, which parses the
 * code as Python does; here its answer is checked.
 *
 * This is no protection: code can import in ways that its text does not show, and
 * earlier cells may have changed the worker. The sandbox and `packages` are the
 * protection.
 */
#ifndef PETRI_REFUSE_H
#define PETRI_REFUSE_H

#include "kernel/run/run.h"

struct config;
struct patterns;

/* Sets the outcome where the code matches a refused pattern; code is a JSON string. refused: the patterns of config,
 * NULL for none. */
void refuse_check(const struct config *config, struct patterns *refused, struct run *run, const json_t *code);

/* The modules that the worker looks for, for the frame; NULL for none. Borrowed. */
const json_t *refuse_modules(const struct config *config);

/*
 * Returns whether the worker replies that it has not run the code because of a
 * refused import, and then sets the outcome. A reply that names a module that is
 * not refused, or a line that the code does not have, is not taken for one.
 */
bool refuse_check_reply(const struct config *config, struct run *run, const json_t *reply);

#endif
