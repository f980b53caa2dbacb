/*
 * iopub.h - publishes messages to all clients.
 *
 * A message that can't be sent is logged.
 * See: Jupyter messaging, "Messages on the IOPub (PUB/SUB) channel".
 */
#ifndef PETRI_IOPUB_H
#define PETRI_IOPUB_H

#include "protocol/message.h"

struct jupyter;

/* Publishes a message. parent is a header or NULL; content is stolen. */
void iopub_publish(struct jupyter *jupyter, const json_t *parent, const char *msg_type, json_t *content);

/* The same with metadata and buffers of parts; content and all else is borrowed. */
void iopub_publish_parts(struct jupyter *jupyter, struct message_parts *parts);

/* state: "starting", "busy" or "idle". */
void iopub_status(struct jupyter *jupyter, const json_t *parent, const char *state);

/* A stream message: name is "stdout" or "stderr"; data need not be UTF-8. */
void iopub_stream(struct jupyter *jupyter, const json_t *parent, const char *name, const char *data, size_t bytes);

/*
 * From now on requests wait for the first subscriber, for a short time. A client
 * whose shell connection is made before its iopub connection would otherwise miss
 * the messages that are published for its first request.
 */
void iopub_await_subscriber(struct jupyter *jupyter);

/* A poll_handler (arg: struct jupyter): answers each new subscription with iopub_welcome. See: JEP 65. */
void iopub_serve(void *arg, short events);

#endif
