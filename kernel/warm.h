/*
 * warm.h - from a worker that has just been started to the first image.
 */
#ifndef PETRI_WARM_H
#define PETRI_WARM_H

#include "sandbox/sandbox.h"

#include <stdint.h>

struct kernel;

/* Takes over a session whose worker has just been started, and waits for it to be warm. */
void warm_begin(struct kernel *kernel, struct session *session);

/* The worker said that it is warm: it becomes image 0. */
void warm_ready(struct kernel *kernel);

/* The starting worker can't go on; what says how it ended: "ended", "took longer than 60 s". */
void warm_failed(struct kernel *kernel, const char *what);

/* A poll_handler for session_exit_fd(). */
void warm_exit_ready(struct kernel *kernel, void *arg, short events);

/* What is due while the interpreter starts. */
void warm_tick(struct kernel *kernel, int64_t now_us);

#endif
