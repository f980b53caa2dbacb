/*
 * endpoint.h - binding a channel's socket as the connection file asks for it.
 *
 * See: zmq_curve(7); Jupyter, "Transport security for kernels".
 */
#ifndef PETRI_ENDPOINT_H
#define PETRI_ENDPOINT_H

#include "base/cleanup.h"
#include "base/error.h"
#include "protocol/connection.h"

#include <stddef.h>

/*
 * Makes a ZeroMQ socket a CURVE server where the file has keys, and binds it.
 * Where libzmq chooses the port, it is noted in connection. Only the user can
 * connect to a socket in the file system. It is refused where something else than
 * a socket is at its path, or where every user could replace it. 0, or -errno
 * with a sentence in ret_error.
 */
int endpoint_bind(void *socket, struct connection *connection, enum channel channel,
                  struct error *ret_error) MUST_CHECK;

#endif
