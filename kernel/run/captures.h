/*
 * captures.h - output that a widget takes, and what comes back of it.
 *
 * ipywidgets' Output names the request whose output it takes (`msg_id` in its
 * state). A front end then does not show that output but puts it into the widget,
 * and says so to the session: a comm message for each piece, on the socket that
 * it awaits the reply on. A client that waits on a libzmq descriptor is woken
 * once, and sending clears that: clients that send without looking at what has
 * come (jupyter_client's asyncio channels, and so nbclient and papermill) don't
 * see a reply that comes just then. So an execute_reply waits until all has come
 * back, for a moment at most: not every front end answers each piece.
 *
 * See: zmq_getsockopt(3), ZMQ_FD.
 */
#ifndef PETRI_CAPTURES_H
#define PETRI_CAPTURES_H

#include "kernel/base/poll_set.h"

#include <jansson.h>
#include <stdbool.h>

/* For how long a reply waits: more than a busy machine takes for an answer, until a piece has not come back. */
enum { CAPTURES_HOLD_MS = 1000, CAPTURES_HOLD_UNANSWERED_MS = 100 };

/* All zero is empty. */
struct captures {
    json_t *comms;    /* comm_id to whether it takes what comes next, owned; NULL for none */
    unsigned taking;  /* how many do */
    unsigned due;     /* pieces that have not come back */
    int64_t until_us; /* how long they are waited for; 0 before the cell's end */
};

void captures_fini(struct captures *captures);

/* A message goes out for the request with this header. content: NULL for none. */
void captures_note(struct captures *captures, const json_t *header, const char *msg_type, const json_t *content);

/* A comm message has come from a front end. */
void captures_echo(struct captures *captures, const json_t *content);

/* The cell has ended, and all else is done: whether the reply to its request waits, for *hold_us at most. Less, from
 * the next cell on, where a piece has not come back by then. */
bool captures_wait(struct captures *captures, int64_t now_us, int64_t *hold_us);

/* Whether it has been asked that. */
bool captures_waits(const struct captures *captures);
void captures_watch(const struct captures *captures, struct poll_set *set);

/* Nothing is waited for any more. */
void captures_cancel(struct captures *captures);

#endif
