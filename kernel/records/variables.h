/*
 * variables.h - the values of environment variables, which are not to be stored wherever they stand.
 *
 * Three come by them: the configuration gives cells variables; a line of a cell
 * sets one, "%env NAME=VALUE", and is read here before the cell begins, because the
 * cell may never come to it; and the worker tells what its magic has set, where the
 * value was computed.
 *
 * What a cell tells can only take more out of the records, never less.
 */
#ifndef PETRI_VARIABLES_H
#define PETRI_VARIABLES_H

#include "protocol/bytes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VARIABLES_MAX = 128,             /* beyond it the oldest that a cell has set is forgotten */
    VARIABLES_VALUE_BYTES_MIN = 6,   /* a shorter one stands in too many texts that have nothing to do with it */
    VARIABLES_VALUE_BYTES = 1 << 17, /* of a longer one only so much is known: Linux gives programs no longer one */
    VARIABLES_KIND_BYTES = 11 + 60,  /* "variable NAME", of a longer name its beginning */
};

struct variable {
    char kind[VARIABLES_KIND_BYTES]; /* what stands in the mark that takes its place */
    char *value;                     /* owned, not terminated */
    size_t bytes;
    bool stays; /* it is the configuration's */
};

/* All zero where there are none. */
struct variables {
    size_t n;
    struct variable rows[VARIABLES_MAX]; /* the oldest first */
};

void variables_fini(struct variables *variables);

/* Notes a value, unless it is too short or known. stays: not to be forgotten for others. Where there is no memory
 * variables->rows stays as it is and false is returned. */
bool variables_add(struct variables *variables, const char *name, const char *value, size_t bytes, bool stays);

/* The same with those of the configuration, an object of texts or NULL; they stay. */
bool variables_add_all(struct variables *variables, const json_t *values);

/* Notes what the lines of a cell's code set. False where there was no memory. */
bool variables_read_code(struct variables *variables, const char *code, size_t bytes);

/* Appends a struct secrets_hit for each place in a text where a known value stands, or one for the whole text if that
 * is not known by the deadline (clock.h). Their kinds are borrowed. */
void variables_find(const struct variables *variables, const char *text, size_t bytes, int64_t deadline_us,
                    struct bytes *hits);

/* The same for the values in those lines of a cell's code that set variables, whatever they are. */
void variables_find_in_code(const char *code, size_t bytes, struct bytes *hits);

#endif
