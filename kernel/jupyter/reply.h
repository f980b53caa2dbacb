/*
 * reply.h - replies to a request, and the busy and idle status around them.
 */
#ifndef PETRI_REPLY_H
#define PETRI_REPLY_H

#include "kernel/jupyter/request.h"

struct jupyter;

/* Publishes the status busy for the request. */
void reply_busy(struct jupyter *jupyter, const struct request *request);

/* Replies on the request's own channel. metadata (NULL allowed) and content are stolen. */
void reply_send(struct jupyter *jupyter, const struct request *request, const char *msg_type, json_t *metadata,
                json_t *content);

/* Replies with status error, if the message's type ends in "_request"; else does nothing. */
void reply_error(struct jupyter *jupyter, const struct request *request, const char *ename, const char *evalue);

/* Replies with status aborted to each execute_request of a queue, as stop_on_error demands; the queue is empty then.
 * See: Jupyter messaging, "Request-Reply". */
void reply_aborted(struct jupyter *jupyter, struct request_queue *requests);

/* Publishes the status idle for the request, and frees it. Publishes busy once more for a cell that runs meanwhile. */
void reply_idle(struct jupyter *jupyter, struct request *request);

#endif
