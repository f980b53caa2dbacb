/*
 * endpoint.c - CURVE, the gate, and zmq_bind(3) with a descriptor.
 *
 * gate_open() is called before libzmq has the descriptor, so that each connection
 * is counted. With ZMQ_USE_FD, libzmq takes from the endpoint only what kind of
 * socket the descriptor is; it neither binds it nor removes its file.
 */

#include "endpoint.h"

#include "kernel/jupyter/gate.h"

#include <errno.h>
#include <zmq.h>

enum { Z85_KEY_CHARS = 40 };

static int serve_curve(void *socket, const struct connection *connection) {
    const int server = 1;
    if (connection->curve_secretkey[0] == '\0')
        return 0;
    if (zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &server, sizeof server) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, connection->curve_publickey, Z85_KEY_CHARS) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, connection->curve_secretkey, Z85_KEY_CHARS) < 0)
        return -errno;
    return 0;
}

static int give(void *socket, const char *endpoint, int *fd) {
    if (zmq_setsockopt(socket, ZMQ_USE_FD, fd, sizeof *fd) < 0 || zmq_bind(socket, endpoint) < 0)
        return -errno;
    *fd = -1;
    return 0;
}

int endpoint_bind(void *socket, const struct connection *connection, enum channel channel, struct listeners *listeners,
                  struct error *ret_error) {
    const char *endpoint = connection->endpoint[channel];
    int r = serve_curve(socket, connection);
    if (r < 0)
        return error_set(ret_error, -r,
                         zmq_has("curve") ? "the connection file's keys are no CURVE keys"
                                          : "the connection file asks for encryption, which this libzmq has not");
    r = gate_open(channel, endpoint);
    if (r == 0)
        r = give(socket, endpoint, &listeners->of[channel].fd);
    return r < 0 ? error_set(ret_error, -r, "%s can't be served: %s", endpoint, zmq_strerror(-r)) : 0;
}
