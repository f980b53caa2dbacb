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

/* Does it now; nothing the second time. What fails is said in the log and never costs a run. */
void deferred_now(struct deferred *deferred);

#endif
