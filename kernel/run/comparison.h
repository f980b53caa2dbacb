/*
 * comparison.h - %diff: what differs between two states of the session, looked at from outside of it.
 *
 * The names of each are asked for in a throw-away cell of its image, one after the other: so the session stays where it
 * is. Its files are compared by the kernel process. A state whose Python does not answer has no names to compare; its
 * files it has.
 */
#ifndef PETRI_COMPARISON_H
#define PETRI_COMPARISON_H

#include "kernel/timeline/timeline.h"
#include "kernel/worker/exchange.h"

struct session;

enum { COMPARISON_TITLE_BYTES = 192 };

struct comparison {
    bool is_on;
    char title[COMPARISON_TITLE_BYTES];
    char id[2][TIMELINE_ID_BYTES]; /* of the states: they may go meanwhile */
    unsigned next;                 /* the state whose names are asked for; 2 once both have answered or can't */
    struct cell *cell;             /* of that one, owned; or NULL */
    struct exchange exchange;
    json_t *names[2]; /* owned; NULL where they can't be told */
    char why[128];    /* in that case */
    bool is_cut;      /* a state has more names than it told */
};

void comparison_init(struct comparison *comparison);
void comparison_fini(struct comparison *comparison);

/* Begins one of two states that are there. */
void comparison_begin(struct comparison *comparison, const struct timeline_node *before,
                      const struct timeline_node *after, const char *title);

/* Goes on. True once all is known that can be. */
bool comparison_step(struct comparison *comparison, struct session *session, const struct timeline *timeline,
                     int64_t now_us);
void comparison_watch(struct comparison *comparison, struct poll_set *set);

/* Asks no state any more, with this reason. */
void comparison_cancel(struct comparison *comparison, const char *why);

/* Ends it: the data of a display, the caller's; NULL on ENOMEM. */
json_t *comparison_end(struct comparison *comparison, struct session *session, const struct timeline *timeline);

#endif
