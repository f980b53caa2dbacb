/*
 * listing.h - a listing of changes as one text.
 */
#ifndef PETRI_TESTS_LISTING_H
#define PETRI_TESTS_LISTING_H

#include "sandbox/sandbox.h"

enum { LISTING_LINES = 64 };

struct listing {
    size_t n;
    char *line[LISTING_LINES];
};

/* A cell_change_handler: adds "created PATH" to the struct listing at arg, with a / behind a folder. */
int listing_add(void *arg, const struct cell_file *file);

/* Its lines in their order, ", " between, in a buffer that the next call uses again; empties it. */
const char *listing_take(struct listing *listing);

#endif
