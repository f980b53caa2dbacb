#include "heartbeat.h"

#include <errno.h>
#include <signal.h>
#include <zmq.h>

/* Sends every frame back to where it came from; a ROUTER's first frame is the way back. */
static void *beat(void *arg) {
    void *socket = arg;
    zmq_msg_t part;
    zmq_msg_init(&part);
    for (;;) {
        if (zmq_msg_recv(&part, socket, 0) < 0) {
            if (errno == EINTR)
                continue;
            break; /* ETERM: the kernel ends */
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

int heartbeat_start(struct heartbeat *heartbeat, void *context, const char *endpoint) {
    int linger_ms = 0;
    int r = 0;
    heartbeat->socket = zmq_socket(context, ZMQ_ROUTER);
    if (!heartbeat->socket)
        return -errno;
    if (zmq_setsockopt(heartbeat->socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms) < 0 ||
        zmq_bind(heartbeat->socket, endpoint) < 0)
        r = -errno;
    else
        r = start_thread(heartbeat);
    if (r < 0) {
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
