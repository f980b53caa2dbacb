/*
 * channels.h - the five sockets of a kernel, and messages in and out of them.
 *
 * See: Jupyter messaging, "Introduction"; zmq_socket(3).
 */
#ifndef PETRI_CHANNELS_H
#define PETRI_CHANNELS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/jupyter/listeners.h"
#include "protocol/connection.h"
#include "protocol/message.h"

#include <stdatomic.h>

struct channels {
    void *context;
    void *sockets[CHANNEL_N]; /* CHANNEL_HB belongs to the heartbeat's thread and is NULL here */
    struct signer *signer;
    struct signer *any_signature; /* accepts any signature */
    bool serves;                  /* of a kernel, not of a client: a message signed by a kernel is not a request */
    atomic_size_t unsent_bytes;   /* of iopub; libzmq's thread subtracts bytes when they are sent */
    char session_id[37];          /* header.session of the messages that this kernel sends */
    char username[32];
};

/*
 * Makes the context and serves shell, control, iopub and stdin with their
 * listeners, which libzmq owns from then on. 0, or -errno with the endpoint that
 * could not be served, or what else failed, in ret_error.
 */
int channels_open(struct channels *channels, const struct connection *connection, struct listeners *listeners,
                  struct error *ret_error) MUST_CHECK;

/* Closes the sockets once the last messages have left, or after a second; ends the context. All zero is allowed. */
void channels_close(struct channels *channels);

/*
 * Takes the next message that has arrived, without waiting. Returns 1 with
 * ret_message filled (the caller's: message_fini()) where ret_problem is
 * MESSAGE_OK, and where it is MESSAGE_BAD_JSON and the header could be read,
 * then with nothing but the header and the way back; 1 and nothing in
 * ret_message for any other problem; 0 where nothing has arrived; -errno.
 */
int channels_receive(struct channels *channels, enum channel channel, struct message *ret_message,
                     enum message_problem *ret_problem) MUST_CHECK;

/* Whether a message that asks for something has arrived and was not received yet: on shell or control. */
bool channels_are_asked(const struct channels *channels);

/*
 * The memory that what was published takes as long as it has not left for every
 * subscriber. Never more than a moment old.
 */
size_t channels_unsent_bytes(const struct channels *channels);

/*
 * Signs and sends a message. session and username of parts are filled in here.
 * Never blocks: libzmq queues it. 0 or -errno; -ENOMEM also where content is NULL;
 * -EHOSTUNREACH on stdin where its client is not there.
 */
int channels_send(struct channels *channels, enum channel channel, struct message_parts *parts) MUST_CHECK;

/* The same for a stream message on iopub, whose content is made of output that need not be UTF-8. 0 or -errno. */
int channels_send_stream(struct channels *channels, struct message_parts *parts, const char *name, const void *data,
                         size_t bytes) MUST_CHECK;

#endif
