/*
 * variables.h - the values of environment variables, which are not to be stored wherever they stand.
 *
 * Three come by them: the configuration gives cells variables; a line of a cell
 * sets one, "%env NAME=VALUE", and is read here before the cell begins, because the
 * cell may never come to it; and the worker tells what its magic has set, where the
 * value was computed.
 *
 * What a cell tells can only take more out of the records, never less: a value that is
 * known is never forgotten for another one. So each source but the configuration has a
 * bound of its own, and what is over it is refused: the caller does not run such a cell,
 * or undoes it.
 */
#ifndef PETRI_VARIABLES_H
#define PETRI_VARIABLES_H

#include "base/cleanup.h"
#include "kernel/base/work_time.h"
#include "protocol/bytes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    VARIABLES_MAX = 8192,            /* of each source but the configuration */
    VARIABLES_BYTES_MAX = 8 << 20,   /* the same, of their values together */
    VARIABLES_VALUE_BYTES_MIN = 6,   /* a shorter one stands in too many texts that have nothing to do with it */
    VARIABLES_VALUE_BYTES = 1 << 17, /* of a longer one only so much is known: Linux gives programs no longer one */
    VARIABLES_KIND_BYTES = 11 + 60,  /* "variable NAME", of a longer name its beginning */
    VARIABLES_FILTER_BITS = 1 << 16,
};

/* Whoever sets a variable. */
enum variable_source { VARIABLE_CONFIGURED, VARIABLE_IN_CODE, VARIABLE_TOLD, VARIABLE_SOURCES };

struct variable {
    char *value; /* owned, not terminated */
    size_t bytes;
    uint64_t only_for;               /* over the bound: the run that it is known for; else 0 */
    char kind[VARIABLES_KIND_BYTES]; /* what stands in the mark that takes its place */
};

/* All zero where there are none. */
struct variables {
    struct variable **rows; /* by value; the array and the rows are owned */
    size_t n, room;
    size_t shortest; /* value that ever was there; 0 for none */
    struct {
        size_t n, bytes;
    } used[VARIABLE_SOURCES];
    uint64_t filter[VARIABLES_FILTER_BITS / 64]; /* of the first bytes of all values */
};

void variables_fini(struct variables *variables);

/*
 * Notes a value, unless it is too short or known. 0; -ENOMEM; -ENOSPC where the source
 * has too many: with a run's number, which is not 0, such a value is known until
 * variables_forget(run), so that the record of that run, which the caller ends, is without it.
 */
int variables_add(struct variables *variables, enum variable_source source, uint64_t run, const char *name,
                  const char *value, size_t bytes) MUST_CHECK;

/* Forgets what was over the bound in a run whose record is stored. */
void variables_forget(struct variables *variables, uint64_t run);

/* Notes those of the configuration, an object of texts or NULL. 0 or -ENOMEM. */
int variables_add_all(struct variables *variables, const json_t *values) MUST_CHECK;

/* Notes what the lines of a cell's code set, until one is over the bound: none is noted from there on. 0, -ENOMEM or
 * -ENOSPC. */
int variables_read_code(struct variables *variables, const char *code, size_t bytes) MUST_CHECK;

/*
 * Appends a struct secrets_hit for each place in a text where known values stand, one for
 * those that overlap, or one for the whole text if that is not known within the time
 * (work_time.h). What begins with a value that is not known whole counts up to the text's end.
 * Their kinds are borrowed.
 */
void variables_find(const struct variables *variables, const char *text, size_t bytes, struct work_time *time,
                    struct bytes *hits);

/* The same for the values in those lines of a cell's code that set variables, whatever they are. */
void variables_find_in_code(const char *code, size_t bytes, struct bytes *hits);

#endif
