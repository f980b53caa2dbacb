/*
 * refuse.h - code that the configuration's `refuse` names is not run: early and friendly feedback, which says where.
 *
 * Nothing is enforced here: code can import in ways that no text shows. What
 * holds is the sandbox, and `packages`.
 */
#ifndef PETRI_REFUSE_H
#define PETRI_REFUSE_H

#include "kernel/run/run.h"

/* Sets the outcome where the code has what is refused; code is a JSON string. */
void refuse_check(struct runner *runner, struct run *run, const json_t *code);

#endif
