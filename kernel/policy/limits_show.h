/*
 * limits_show.h - the limits in force as a table for people: what %limits shows.
 */
#ifndef PETRI_LIMITS_SHOW_H
#define PETRI_LIMITS_SHOW_H

#include "kernel/policy/limits.h"

#define LIMITS_UNUSED INT64_C(-1) /* not measured, or not used yet */

/* What has been used of each limit, in the limit's unit; else LIMITS_UNUSED. */
struct limits_used {
    int64_t cell[LIMIT_N];    /* by the last cell */
    int64_t session[LIMIT_N]; /* by the session until now */
};

/* Nothing is used of any. */
void limits_used_clear(struct limits_used *ret_used);

/*
 * The table: {"text/plain", "text/html"}, a row for each limit. The caller's;
 * NULL on ENOMEM.
 */
json_t *limits_show(const struct profile *profile, const struct limits *limits, const struct limits_used *used);

#endif
