/*
 * heartbeat.c - a blocking loop on a thread that sends each frame back.
 *
 * It shares only the context with the kernel; the context's shutdown ends the
 * thread. Signals are blocked while the thread is created, so that only the main
 * thread gets them.
 */

#include "heartbeat.h"

#include "kernel/jupyter/endpoint.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <zmq.h>

/* A client may send beats without reading the answers: 16 are queued in each direction, and others are dropped. */
enum { MAX_BEAT_BYTES = 4 << 10, WAITING = 16 };

/* Sends every frame back to its sender, which the first frame of a ROUTER names. */
static void *beat(void *arg) {
    void *socket = arg;
    zmq_msg_t part;
    zmq_msg_init(&part);
    for (;;) {
        if (zmq_msg_recv(&part, socket, 0) < 0) {
            if (errno == EINTR)
                continue;
            break; /* ETERM: the context is shut down */
        }
        int flags = ZMQ_DONTWAIT | (zmq_msg_more(&part) ? ZMQ_SNDMORE : 0);
        if (zmq_msg_send(&part, socket, flags) < 0 && errno == ETERM)
            break;
    }
    zmq_msg_close(&part);
    zmq_close(socket);
    return NULL;
}

static int start_thread(struct heartbeat *heartbeat) {
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&heartbeat->thread, NULL, beat, heartbeat->socket);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

static int make_socket(struct heartbeat *heartbeat, void *context) {
    const int linger_ms = 0, ipv6 = 1, waiting = WAITING;
    const int64_t max_bytes = MAX_BEAT_BYTES;
    heartbeat->socket = zmq_socket(context, ZMQ_ROUTER);
    if (!heartbeat->socket || zmq_setsockopt(heartbeat->socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms) < 0 ||
        zmq_setsockopt(heartbeat->socket, ZMQ_IPV6, &ipv6, sizeof ipv6) < 0 ||
        zmq_setsockopt(heartbeat->socket, ZMQ_RCVHWM, &waiting, sizeof waiting) < 0 ||
        zmq_setsockopt(heartbeat->socket, ZMQ_SNDHWM, &waiting, sizeof waiting) < 0 ||
        zmq_setsockopt(heartbeat->socket, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes) < 0)
        return -errno;
    return 0;
}

int heartbeat_start(struct heartbeat *heartbeat, void *context, const struct connection *connection,
                    struct listeners *listeners, struct error *ret_error) {
    int r = make_socket(heartbeat, context);
    if (r < 0)
        error_set(ret_error, -r, "the heartbeat's socket can't be made: %s", zmq_strerror(-r));
    else
        r = endpoint_bind(heartbeat->socket, connection, CHANNEL_HB, listeners, ret_error);
    if (r == 0 && (r = start_thread(heartbeat)) < 0)
        error_set(ret_error, -r, "the heartbeat's thread can't be started: %s", zmq_strerror(-r));
    if (r < 0 && heartbeat->socket) {
        zmq_close(heartbeat->socket);
        heartbeat->socket = NULL;
    }
    return r;
}

void heartbeat_join(struct heartbeat *heartbeat) {
    if (heartbeat->socket)
        pthread_join(heartbeat->thread, NULL);
    heartbeat->socket = NULL;
}
