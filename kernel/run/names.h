/*
 * names.h - answers the questions for names that a cell's programs ask: that there is no such name.
 *
 * There is no network; without an answer a program that asks would wait for one, for
 * a second and more. See: cell_names_fd() in sandbox.h, protocol/dns.h.
 */
#ifndef PETRI_NAMES_H
#define PETRI_NAMES_H

#include "kernel/base/poll_set.h"

#include <stdbool.h>

struct cell;

/* Told of each question; name is borrowed for the call. Of one lookup there are two: for the second one, is_new is
 * false. */
typedef void names_asked(void *arg, const char *name, bool is_new);

/* All zero is a cell of which nothing was asked yet. */
struct names {
    int fd;             /* of the cell, borrowed; set by names_watch() */
    unsigned answered;  /* questions so far */
    names_asked *asked; /* NULL for nobody */
    void *arg;          /* for asked */
};

/* Answers what the cell asks in this turn of the loop. */
void names_watch(struct names *names, struct cell *cell, struct poll_set *set);

#endif
