/*
 * inputs_read.h - the files of the notebook's folder that a cell has read, for its report.
 *
 * The kernel process noted which files the cell opened while it ran. Here they
 * are hashed as they were before the cell, in slices; a file that has not changed
 * since it was hashed is not read again. A file that was opened counts as read,
 * unless it did not exist before the cell.
 */
#ifndef PETRI_INPUTS_READ_H
#define PETRI_INPUTS_READ_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    INPUTS_READ_FILE_BYTES = 16 << 20, /* a larger file is named without its hash */
    INPUTS_READ_BYTES = 64 << 20,      /* bytes that are hashed for one run */
    INPUTS_READ_KNOWN = 4096,          /* digests that are remembered */
};

struct inputs_read;

/* All borrowed until the reading is destroyed. */
struct inputs_read_options {
    struct cell *cell;       /* frozen */
    const struct spec *spec; /* its files have rows already */
    json_t *known;           /* an object in which digests are kept between runs */
    struct inputs *inputs;   /* where the rows go */
};

/*
 * Takes the list from a frozen cell. 0 with ret, the caller's
 * (inputs_read_destroy()), which is NULL where there is nothing to hash;
 * inputs->complete is set. -errno where there is no list.
 */
int inputs_read_begin(const struct inputs_read_options *options, struct inputs_read **ret) MUST_CHECK;

/* Continues until clock_us() is about until_us; adds rows to inputs. True once all is done. */
bool inputs_read_step(struct inputs_read *read, int64_t until_us);

/* NULL is allowed. */
void inputs_read_destroy(struct inputs_read *read);

#endif
