/*
 * deferred.h - what a kernel needs for its first run but not for its first answer.
 *
 * It opens the records and makes the environment's fingerprint: reading the
 * interpreter's files alone takes longer than everything before the reply to
 * kernel_info. So this is done after that reply, while the interpreter warms up,
 * and at the latest when a run begins.
 */
#ifndef PETRI_DEFERRED_H
#define PETRI_DEFERRED_H

#include <stdbool.h>

struct accounts;
struct config;
struct log;
struct paths;

/* What it works with is borrowed. */
struct deferred {
    const struct config *config;
    struct accounts *accounts; /* gets the records and the fingerprint */
    const struct log *log;
    const char *python; /* NULL where no cell can run: then there is no environment to record */
    const struct paths *paths;
    bool done;
};

/* Does it now; nothing the second time. A failure is logged and never keeps a run from going on. */
void deferred_now(struct deferred *deferred);

#endif
