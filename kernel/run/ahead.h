/*
 * ahead.h - makes cells: the session's next one ahead of its request, and those of fresh runs.
 */
#ifndef PETRI_AHEAD_H
#define PETRI_AHEAD_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct run;
struct runner;

/* Whether no request waits for a cell that is made ahead: is_idle of struct cell_options. arg: the runner. */
bool ahead_has_time(void *arg);

/* Where the session's next cell is to be made, the turn doesn't wait. */
void ahead_watch(const struct runner *runner, struct poll_set *set);

/* Makes the session's next cell ahead, if its own place is free and it has none. */
void ahead_make(struct runner *runner);

/* Makes it now, if there is none: of the session's present state. 0; or -errno with a sentence in ret_error, then the
 * next request tries again. */
int ahead_try(struct runner *runner, struct error *ret_error) MUST_CHECK;

/*
 * Gives the run its cell: the one made ahead. A fresh run gets one of image 0; the
 * one made ahead is then kept for the next request. 0, or -errno with a sentence in
 * ret_error.
 */
int ahead_take(struct run *run, struct error *ret_error) MUST_CHECK;

#endif
