/*
 * endpoint.h - gives the socket that listens for a channel to libzmq.
 *
 * See: zmq_curve(7); ZMQ_USE_FD in zmq_setsockopt(3); Jupyter, "Transport security for kernels".
 */
#ifndef PETRI_ENDPOINT_H
#define PETRI_ENDPOINT_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/jupyter/listeners.h"
#include "protocol/connection.h"

/*
 * Makes a ZeroMQ socket a CURVE server where the file has keys, and has it accept
 * the connections of the channel's listener, those that wait there among them. From
 * then on libzmq closes the listener. The gate is open for them. 0, or -errno with a
 * sentence in ret_error, and then the listener is still the caller's.
 */
int endpoint_bind(void *socket, const struct connection *connection, enum channel channel, struct listeners *listeners,
                  struct error *ret_error) MUST_CHECK;

#endif
