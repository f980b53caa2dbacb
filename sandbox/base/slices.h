/*
 * slices.h - long work of one thread, between whose slices others get their turn.
 *
 * Whatever grows with what a session has (bytes of files, names, processes that have to end) calls slices_step() for
 * each small part of it, and waits by slices_await(). Whoever serves the others has said so by sandbox_serve() for this
 * thread; in other threads, as those of errands, there is nobody to be served, and nothing happens.
 */
#ifndef PETRI_SANDBOX_BASE_SLICES_H
#define PETRI_SANDBOX_BASE_SLICES_H

#include "base/cleanup.h"

/* Lets others have their turn, if some milliseconds have passed since their last. Cheap where not. */
void slices_step(void);

/* Waits at most timeout_ms for the end of a process by pidfd; others have their turns meanwhile. 0, -ETIMEDOUT or
 * -errno. See: pidfd_open(2). */
int slices_await(int pidfd, int timeout_ms) MUST_CHECK;

/* Lets others have a turn of a few milliseconds at least: for a wait that is made of short ones. */
void slices_wait(void);

#endif
