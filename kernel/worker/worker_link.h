/*
 * worker_link.h - the wire to one worker: frames in with a cap, frames out with a queue.
 *
 * Nothing here blocks, and nothing that comes in is trusted: a frame is checked
 * against the shape of its type before it is given out. While the worker has not
 * read what it was sent, nothing is taken from it: one that asks and never reads
 * the answers waits, and costs no memory.
 * See: docs/worker-wire.md.
 */
#ifndef PETRI_WORKER_LINK_H
#define PETRI_WORKER_LINK_H

#include "base/cleanup.h"
#include "protocol/wire.h"

#include <stdbool.h>

struct worker_link {
    int fd; /* borrowed; -1 where there is none */
    struct wire_reader *reader;
    char *out; /* frames not yet written: out_bytes from out_start on */
    size_t out_start;
    size_t out_bytes;
    bool ended; /* the worker closed its end */
    bool more;  /* whole frames may still stand in the reader */
};

/* A link that is not connected. */
void worker_link_init(struct worker_link *link);

/* Starts afresh on another socket, which is borrowed until worker_link_detach(). 0 or -ENOMEM. */
int worker_link_attach(struct worker_link *link, int fd, size_t max_frame_bytes) MUST_CHECK;
void worker_link_detach(struct worker_link *link);

/*
 * Sends a frame, or queues what the socket does not take now. -ENOBUFS where
 * the worker has not read for so long that the queue is full, or another
 * -errno: the link can't be used any further.
 */
int worker_link_send(struct worker_link *link, const json_t *json, const struct wire_buffer *buffers,
                     size_t n_buffers) MUST_CHECK;

/* ZMQ_POLLIN or, while something is queued, ZMQ_POLLOUT; 0 once the worker closed its end and all is written. */
short worker_link_events(const struct worker_link *link);

/* Whether worker_link_next() may give a frame without anything being read before. */
bool worker_link_has_more(const struct worker_link *link);

/* Writes and reads once what poll said is possible. 0 or -errno. */
int worker_link_serve(struct worker_link *link, short events) MUST_CHECK;

/*
 * Takes the next frame that has come whole. 1: ret_frame is the caller's
 * (wire_frame_fini()), and of ret_type; 0: none yet; -errno: the worker broke
 * the wire, ret_why says how (static).
 */
int worker_link_next(struct worker_link *link, struct wire_frame *ret_frame, enum wire_type *ret_type,
                     const char **ret_why) MUST_CHECK;

#endif
