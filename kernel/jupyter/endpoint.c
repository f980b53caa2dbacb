/*
 * endpoint.c - checks before zmq_bind(3), and the port that is known only after it.
 *
 * gate_open() is called before the socket is bound, so that each connection is
 * counted; where libzmq chooses the port, it is called right after. A socket in
 * the file system can only be checked by its path, because libzmq binds by path:
 * a user who can write to its folder could replace it between the check and the
 * bind. So a folder is refused where every user may create files and remove those
 * of others.
 */

#include "endpoint.h"

#include "kernel/jupyter/gate.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zmq.h>

enum { Z85_KEY_CHARS = 40 };
#define IPC "ipc://"

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

/*
 * Whether a socket can be bound at a path. libzmq removes what is there, which is
 * intended for the socket of a kernel that was killed; so what is there has to be
 * a socket. And where every user can write to the folder, another user could
 * replace the socket.
 */
static int check_place(const char *endpoint, struct error *ret_error) {
    char folder[sizeof((struct connection *)0)->endpoint[0]];
    const char *path = endpoint + strlen(IPC);
    struct stat st;
    if (strncmp(endpoint, IPC, strlen(IPC)) != 0)
        return 0;
    if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return error_set(ret_error, EEXIST, "%s can't be bound: something is there that is no socket", endpoint);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    if (stat(slash ? folder : ".", &st) == 0 && st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
        return error_set(ret_error, EPERM,
                         "%s can't be bound: everybody can write to its folder and replace what is there", endpoint);
    return 0;
}

/* Binds with a umask of 0177: to connect to a socket in the file system, another user would need write permission. */
static int bind_for_owner(void *socket, const char *endpoint) {
    mode_t before = umask(0177);
    int r = zmq_bind(socket, endpoint) < 0 ? -errno : 0;
    umask(before);
    return r;
}

int endpoint_bind(void *socket, struct connection *connection, enum channel channel, struct error *ret_error) {
    const char *endpoint = connection->endpoint[channel];
    int r = serve_curve(socket, connection);
    if (r < 0)
        return error_set(ret_error, -r,
                         zmq_has("curve") ? "the connection file's keys are no CURVE keys"
                                          : "the connection file asks for encryption, which this libzmq has not");
    r = check_place(endpoint, ret_error);
    if (r < 0)
        return r;
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
        return error_set(ret_error, -r, "%s can't be bound: %s", endpoint, zmq_strerror(-r));
    return 0;
}
