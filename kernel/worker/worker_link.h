/*
 * worker_link.h - the wire to one worker: reads frames up to a cap, and queues frames to write.
 *
 * Nothing here blocks. A frame from the worker is checked against the schema of
 * its type before it is returned. While the worker has not read what was sent to
 * it, nothing is read from it, so a worker that never reads can't make the kernel
 * use more memory.
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
    char *out; /* the queue: out_bytes bytes from out_start on */
    size_t out_start;
    size_t out_bytes;
    bool ended; /* the worker closed its end */
    bool more;  /* the reader may have whole frames */
};

/* A link without a socket. */
void worker_link_init(struct worker_link *link);

/* Starts on a socket, which is borrowed until worker_link_detach(). 0 or -ENOMEM. */
int worker_link_attach(struct worker_link *link, int fd, size_t max_frame_bytes) MUST_CHECK;
void worker_link_detach(struct worker_link *link);

/*
 * Sends a frame, and queues what the socket does not accept now. Returns -ENOBUFS
 * where the queue is full because the worker does not read, or another -errno;
 * after an error the link can't be used any more.
 */
int worker_link_send(struct worker_link *link, const json_t *json, const struct wire_buffer *buffers,
                     size_t n_buffers) MUST_CHECK;

/* ZMQ_POLLIN or, while something is queued, ZMQ_POLLOUT; 0 once the worker has closed its end and all is written. */
short worker_link_events(const struct worker_link *link);

/* Whether worker_link_next() may return a frame before more is read. */
bool worker_link_has_more(const struct worker_link *link);

/* Writes and reads once, as poll(2) allows. 0 or -errno. */
int worker_link_serve(struct worker_link *link, short events) MUST_CHECK;

/*
 * Takes the next complete frame. 1: ret_frame is the caller's
 * (wire_frame_fini()), its type is in ret_type; 0: there is none yet; -errno: the
 * worker broke the wire, ret_why says how (static).
 */
int worker_link_next(struct worker_link *link, struct wire_frame *ret_frame, enum wire_type *ret_type,
                     const char **ret_why) MUST_CHECK;

#endif
