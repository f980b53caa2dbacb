/*
 * warm.h - from a worker that has just been started to the first image.
 */
#ifndef PETRI_WARM_H
#define PETRI_WARM_H

#include "sandbox/sandbox.h"

#include <stdint.h>

struct runner;

/* Takes over a session whose worker has just been started, and waits for it to be ready. */
void warm_begin(struct runner *runner, struct session *session);

/* There will be no session: every run from now on is refused for this reason. */
void warm_give_up(struct runner *runner, const char *why);

/* What is due while the interpreter starts. */
void warm_tick(struct runner *runner, int64_t now_us);

#endif
