/*
 * places.h - how many runs a session has at once, and which request begins next.
 *
 * As many as its limit `cpus` says: one that is the session's own, and fresh ones
 * beside it. Requests wait in the order of their arrival, and the first that can
 * begin begins. So a fresh one may overtake those that wait for the session's own
 * run; and one of the session's never waits for fresh ones that came after it, also
 * where a cell has lowered the limit since they began.
 */
#ifndef PETRI_PLACES_H
#define PETRI_PLACES_H

#include "kernel/jupyter/request.h"

struct runner;

/* Fresh runs at once, whatever the limit and the sandbox allow: POLL_SET_MAX has room for them. */
enum { PLACES_BESIDE = 16, PLACES = PLACES_BESIDE + 1 };

enum { WAITING_BYTES_MAX = 256 << 20 };

/* Requests that wait; all zero but bytes_max is none. Each queue is in the order of arrival. */
struct waiting {
    struct request_queue own;    /* for the session's own run */
    struct request_queue beside; /* for one beside it */
    uint64_t n_pushed;           /* of both, ever */
    uint64_t bytes_max; /* of memory that those of both take; one that comes when there is none may take more */
};

/* Whether one more may wait. */
bool waiting_has_room(const struct waiting *waiting, const struct request *request);

/* Takes the request over. */
void waiting_push(struct waiting *waiting, struct request *request);

/* Moves the request with this msg_id to ret_taken, if it waits. */
void waiting_take(struct waiting *waiting, const char *msg_id, struct request_queue *ret_taken);
bool waiting_is_empty(const struct waiting *waiting);
void waiting_clear(struct waiting *waiting);

/* Whether one of the runner's waiting requests can begin now; and the one, which is the caller's, or NULL. */
bool places_have_next(const struct runner *runner);
struct request *places_take_next(struct runner *runner);

#endif
