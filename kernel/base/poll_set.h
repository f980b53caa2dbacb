/*
 * poll_set.h - what the loop waits for in one turn.
 *
 * The set is built for every turn from the state of the kernel, so nothing has to
 * be unregistered. Another handler may have changed something before a handler is
 * called, so each handler checks again and reads without blocking.
 *
 * It uses zmq_poll(3) and not libuv or sd-event, because the descriptor of a
 * ZeroMQ socket is edge-triggered and only says that something may have changed.
 *
 * See: zmq_poll(3), which is level-triggered for sockets and descriptors alike.
 */
#ifndef PETRI_POLL_SET_H
#define PETRI_POLL_SET_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>
#include <zmq.h>

/* Called with what is ready: ZMQ_POLLIN, ZMQ_POLLOUT, ZMQ_POLLERR. */
typedef void poll_handler(void *arg, short events);

/*
 * Enough for a session with 17 runs, its own and PLACES_BESIDE fresh ones (kernel/run/places.h), each with
 * POLL_SET_OF_RUN descriptors: two pipes for output and one for the stack, the worker's socket, its end, its questions
 * for names. All else takes POLL_SET_OTHERS: four channels, a signal, three for each of four introspections, two of the
 * preload, and refused calls. While the interpreter starts there are its four and no run.
 */
enum { POLL_SET_OF_RUN = 6, POLL_SET_OTHERS = 20, POLL_SET_MAX = 17 * POLL_SET_OF_RUN + POLL_SET_OTHERS };

struct poll_set {
    size_t n;
    zmq_pollitem_t items[POLL_SET_MAX];
    struct {
        poll_handler *handler;
        void *arg;
    } targets[POLL_SET_MAX];
    int64_t deadline_us; /* the turn ends then at the latest */
};

void poll_set_init(struct poll_set *set);
void poll_set_add_socket(struct poll_set *set, void *socket, short events, poll_handler *handler, void *arg);
void poll_set_add_fd(struct poll_set *set, int fd, short events, poll_handler *handler, void *arg);

/* Makes the turn end at deadline_us (clock_us(), CLOCK_NEVER) or earlier. */
void poll_set_deadline(struct poll_set *set, int64_t deadline_us);

/* Waits, then calls the handlers of what is ready in the order of their adding. 0 or -errno. */
int poll_set_turn(struct poll_set *set) MUST_CHECK;

#endif
