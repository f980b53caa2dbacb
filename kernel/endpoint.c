#include "endpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The port that libzmq has chosen. */
static int note_port(void *socket, struct connection *connection, enum channel channel) {
    char *endpoint = connection->endpoint[channel];
    size_t bytes = sizeof connection->endpoint[channel];
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &bytes) < 0)
        return -errno;
    const char *colon = strrchr(endpoint, ':');
    connection->port[channel] = colon ? (int)strtol(colon + 1, NULL, 10) : 0;
    return connection->port[channel] > 0 ? 0 : -EADDRNOTAVAIL;
}

int endpoint_bind(void *socket, struct connection *connection, enum channel channel, char *why, size_t why_bytes) {
    const char *endpoint = connection->endpoint[channel];
    int r = serve_curve(socket, connection);
    if (r < 0) {
        snprintf(why, why_bytes,
                 zmq_has("curve") ? "the connection file's keys are no CURVE keys"
                                  : "the connection file asks for encryption, which this libzmq has not");
        return r;
    }
    r = zmq_bind(socket, endpoint) < 0 ? -errno : 0;
    if (r == 0 && connection->port[channel] == 0)
        r = note_port(socket, connection, channel);
    if (r < 0)
        snprintf(why, why_bytes, "%s can't be bound: %s", endpoint, zmq_strerror(-r));
    return r;
}
