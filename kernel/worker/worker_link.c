/*
 * worker_link.c - one frame reader, and one queue of bytes to write.
 *
 * While anything is queued, nothing is read and no frame is taken. So a worker
 * that does not read its acknowledgements can't cause more of them, and the queue
 * grows only by what the kernel sends on its own. A frame may be larger than the
 * queue's cap if the queue is empty, so a request can always be sent.
 */

#include "worker_link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <zmq.h>

/* The cap of the queue: bytes that a worker has not read. */
enum { MAX_QUEUED_BYTES = 256 << 20 };

void worker_link_init(struct worker_link *link) {
    *link = (struct worker_link){.fd = -1};
}

int worker_link_attach(struct worker_link *link, int fd, size_t max_frame_bytes) {
    worker_link_detach(link);
    link->reader = wire_reader_create(max_frame_bytes);
    if (!link->reader)
        return -ENOMEM;
    link->fd = fd;
    return 0;
}

void worker_link_detach(struct worker_link *link) {
    wire_reader_destroy(link->reader);
    free(link->out);
    worker_link_init(link);
}

static int write_out(struct worker_link *link) {
    while (link->out_bytes > 0) {
        ssize_t n = send(link->fd, link->out + link->out_start, link->out_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0 && errno == EPIPE)
            break; /* nobody takes it any more: what was sent before is still to be read, and then the end is seen */
        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        link->out_start += (size_t)n;
        link->out_bytes -= (size_t)n;
    }
    free(link->out);
    link->out = NULL;
    link->out_start = link->out_bytes = 0;
    return 0;
}

/* Adds to the queue; takes over data. */
static int queue_out(struct worker_link *link, char *data, size_t bytes) {
    if (link->out_bytes == 0) {
        free(link->out);
        link->out = data;
        link->out_start = 0;
        link->out_bytes = bytes;
        return 0;
    }
    auto_free char *added = data;
    if (link->out_bytes + bytes > MAX_QUEUED_BYTES)
        return -ENOBUFS;
    char *all = malloc(link->out_bytes + bytes);
    if (!all)
        return -ENOMEM;
    memcpy(all, link->out + link->out_start, link->out_bytes);
    memcpy(all + link->out_bytes, added, bytes);
    free(link->out);
    link->out = all;
    link->out_start = 0;
    link->out_bytes += bytes;
    return 0;
}

int worker_link_send(struct worker_link *link, const json_t *json, const struct wire_buffer *buffers,
                     size_t n_buffers) {
    void *data;
    size_t bytes;
    int r = wire_encode(json, buffers, n_buffers, &data, &bytes);
    if (r == 0)
        r = queue_out(link, data, bytes);
    return r == 0 ? write_out(link) : r;
}

/* Waits for writing alone while anything is queued: see above. */
short worker_link_events(const struct worker_link *link) {
    if (link->out_bytes)
        return ZMQ_POLLOUT;
    return link->ended ? 0 : ZMQ_POLLIN;
}

bool worker_link_has_more(const struct worker_link *link) {
    return link->more && link->out_bytes == 0;
}

int worker_link_serve(struct worker_link *link, short events) {
    int r = events & ZMQ_POLLOUT ? write_out(link) : 0;
    if (r < 0 || !(events & (ZMQ_POLLIN | ZMQ_POLLERR)) || link->ended || link->out_bytes)
        return r;
    ssize_t n = wire_reader_fill(link->reader, link->fd);
    if (n == 0 || n == -ECONNRESET) /* the second where it has not read all before it ended */
        link->ended = true;
    if (n > 0 || n == -ENOBUFS) /* full: frames have to be taken before more is read */
        link->more = true;
    return n < 0 && !link->ended && n != -EAGAIN && n != -EINTR && n != -ENOBUFS ? (int)n : 0;
}

int worker_link_next(struct worker_link *link, struct wire_frame *ret_frame, enum wire_type *ret_type,
                     const char **ret_why) {
    struct wire_frame frame;
    if (link->out_bytes)
        return 0;
    int r = wire_reader_next(link->reader, &frame);
    if (r <= 0) {
        link->more = false;
        *ret_why = r == -EMSGSIZE ? "a frame over the cap"
                   : r == -E2BIG  ? "a frame of too many values"
                                  : "bytes that are not a frame";
        return r;
    }
    r = wire_check(frame.json, ret_type, ret_why);
    if (r < 0) {
        wire_frame_fini(&frame);
        return r;
    }
    *ret_frame = frame;
    return 1;
}
