/*
 * errand.h - work that takes long, done by a thread of its own, which nobody has to wait for.
 *
 * What grows with what a session has is no work for the thread that keeps its limits. The work looks at nothing that
 * changes meanwhile but what its argument has; processes that it reads of may end.
 *
 * See: pthread_create(3), pthread_detach(3).
 */
#ifndef PETRI_BASE_ERRAND_H
#define PETRI_BASE_ERRAND_H

#include "base/cleanup.h"

#include <stdbool.h>

struct errand;

/*
 * Begins work(arg). arg is from malloc(3), and the errand's from now on. Where there can be no thread the work is done
 * at once. NULL on ENOMEM, then nothing is stolen.
 */
struct errand *errand_begin(void (*work)(void *arg), void *arg) MUST_CHECK;

/* Its argument, with what the work has put there, once it is done; NULL before. Borrowed. */
void *errand_result(const struct errand *errand);

/* Waits until it is done. */
void errand_await(struct errand *errand);

/* Waits at most so many milliseconds until it is done. As errand_result(). */
void *errand_await_for(struct errand *errand, int ms);

/* Gives it up, done or not: then its thread frees it. NULL is allowed. */
void errand_leave(struct errand *errand);

/*
 * Has a thread do work(arg), and returns once it is done; others get their turns meanwhile (slices.h), who touch
 * nothing that the work does. arg is borrowed. Where there can be no thread the work is done at once.
 */
void errand_do(void (*work)(void *arg), void *arg);

#endif
