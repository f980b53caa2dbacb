/*
 * deferred.h - what a kernel needs for its first run but not for its first answer.
 *
 * The records are opened, and what cells run in is found out: reading the
 * interpreter's files alone takes longer than everything before the answer to
 * kernel_info. So it is done once that has been given, while the interpreter
 * warms up, and at the latest when a run begins.
 */
#ifndef PETRI_DEFERRED_H
#define PETRI_DEFERRED_H

#include <stdbool.h>

struct kernel;
struct paths;

struct deferred {
    const char *python; /* borrowed; NULL where no cell can run: then there is no environment to record */
    const struct paths *paths;
    bool done;
};

/* Does it now; nothing the second time. What fails is said in the log and never costs a run. */
void deferred_now(struct kernel *kernel);

/* Does it if nobody waits for an answer of the kernel's. */
void deferred_tick(struct kernel *kernel);

#endif
