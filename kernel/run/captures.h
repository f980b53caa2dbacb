/*
 * captures.h - output that ipywidgets' Output captures: when its front end has answered, the reply is sent.
 *
 * ipywidgets' Output names the request whose output it captures (`msg_id` in its
 * state). A front end then puts that output into the widget instead of showing
 * it, and sends a comm message for each output, on the shell socket on which it
 * also waits for the reply. The descriptor of a zmq socket is edge-triggered, and
 * sending consumes the event. So a client that sends without receiving first
 * (jupyter_client's asyncio channels, and so nbclient and papermill) misses a
 * reply that arrives at that moment. For that reason an execute_reply waits until
 * the front end has answered each captured output, but only for a short time,
 * because not every front end answers each of them.
 *
 * See: zmq_getsockopt(3), ZMQ_FD.
 */
#ifndef PETRI_CAPTURES_H
#define PETRI_CAPTURES_H

#include "kernel/base/poll_set.h"

#include <jansson.h>
#include <stdbool.h>

/* How long a reply waits: first more than a front end needs on a busy machine; less once an answer did not come. */
enum { CAPTURES_HOLD_MS = 1000, CAPTURES_HOLD_UNANSWERED_MS = 100 };

/* All zero is empty. */
struct captures {
    json_t *comms;    /* by comm_id: whether it captures the next output, owned; NULL for none */
    unsigned taking;  /* how many of them do */
    unsigned due;     /* outputs that the front end has not answered */
    int64_t until_us; /* when the reply stops waiting for them; 0 before the cell's end */
};

void captures_fini(struct captures *captures);

/* A message is published whose parent has this header. content: NULL for none. */
void captures_note(struct captures *captures, const json_t *header, const char *msg_type, const json_t *content);

/* A comm message of a front end has arrived. */
void captures_echo(struct captures *captures, const json_t *content);

/*
 * The cell has ended, and all else is done: whether the reply has to wait, for
 * *hold_us at most. Reduces *hold_us for the next cells where an answer has
 * not come by then.
 */
bool captures_wait(struct captures *captures, int64_t now_us, int64_t *hold_us);

/* Whether captures_wait() has been called for this run. */
bool captures_waits(const struct captures *captures);
void captures_watch(const struct captures *captures, struct poll_set *set);

/* The run was interrupted: doesn't wait any more. */
void captures_cancel(struct captures *captures);

#endif
