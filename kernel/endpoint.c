#include "endpoint.h"

#include "kernel/gate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Binds. A socket in the file system is its owner's alone, whatever the umask: connecting needs the right to write. */
static int bind_for_owner(void *socket, const char *endpoint) {
    mode_t before = umask(0177);
    int r = zmq_bind(socket, endpoint) < 0 ? -errno : 0;
    umask(before);
    return r;
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
    bool chosen_later = connection->port[channel] == 0;
    if (!chosen_later)
        r = gate_open(channel, endpoint);
    if (r == 0)
        r = bind_for_owner(socket, endpoint);
    if (r == 0 && chosen_later)
        r = note_port(socket, connection, channel);
    if (r == 0 && chosen_later)
        r = gate_open(channel, endpoint);
    if (r < 0)
        snprintf(why, why_bytes, "%s can't be bound: %s", endpoint, zmq_strerror(-r));
    return r;
}
