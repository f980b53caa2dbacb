/*
 * heartbeat.h - sends heartbeats back, on a thread of its own.
 *
 * Clients consider a kernel dead if it does not answer within a second.
 * See: Jupyter messaging, "Heartbeat for kernels".
 */
#ifndef PETRI_HEARTBEAT_H
#define PETRI_HEARTBEAT_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/jupyter/listeners.h"
#include "protocol/connection.h"

#include <pthread.h>

struct heartbeat {
    void *socket;
    pthread_t thread;
};

/*
 * Serves its listener as endpoint_bind() does and starts the thread, with every
 * signal blocked. context is a ZeroMQ context. 0, or -errno with a sentence in
 * ret_error. The thread ends when the context is shut down.
 */
int heartbeat_start(struct heartbeat *heartbeat, void *context, const struct connection *connection,
                    struct listeners *listeners, struct error *ret_error) MUST_CHECK;

/* Waits for the thread's end; zmq_ctx_shutdown() comes first. All zero is allowed. */
void heartbeat_join(struct heartbeat *heartbeat);

#endif
