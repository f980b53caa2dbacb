/*
 * jupyter.h - the kernel's side of the Jupyter protocol: its sockets and their state.
 *
 * See: Jupyter messaging.
 */
#ifndef PETRI_JUPYTER_H
#define PETRI_JUPYTER_H

#include "kernel/base/log.h"
#include "kernel/jupyter/backpressure.h"
#include "kernel/jupyter/channels.h"
#include "kernel/jupyter/heartbeat.h"

struct jupyter {
    const struct log *log; /* borrowed */
    struct connection connection;
    struct listeners listeners;
    struct channels channels;
    struct backpressure backpressure;
    struct heartbeat heartbeat;
    int64_t hold_requests_until_us; /* until then no request is read, to wait for a subscriber: iopub.h */
    const struct request *running;  /* the request of a run that is under way, borrowed; or NULL */
};

#endif
