/*
 * difference.h - what differs between two states, for people.
 *
 *     + frame   DataFrame, 1000 × 3          is new
 *     ~ x       int, 1               str, 12 characters
 *     - tmp     list, 3 items                is gone
 *
 * Names come from workers and paths from cells: rows that are none are left out, texts are made visible and cut.
 */
#ifndef PETRI_DIFFERENCE_H
#define PETRI_DIFFERENCE_H

#include <jansson.h>
#include <stdbool.h>

enum { DIFFERENCE_ROWS_MAX = 500, DIFFERENCE_TEXT_BYTES = 160 };

/* What is known of two states. All borrowed. */
struct difference {
    const char *title;      /* "from [3] to the present state" */
    const json_t *names[2]; /* before and after: arrays of [name, type, size], texts; NULL where they can't be told */
    const char *why;        /* in that case, without a full stop */
    bool is_cut;            /* there are more names, or files, than those: some of what differs may be missing */
    const json_t *files;    /* array of {"path", "change": "+", "~" or "-", "bytes"}; NULL where they can't be told */
};

/* {"text/plain": …, "text/html": …}. The caller's; NULL on ENOMEM. */
json_t *difference_show(const struct difference *difference);

#endif
