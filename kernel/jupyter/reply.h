/*
 * reply.h - replies to a request's client, and the busy and idle around them.
 */
#ifndef PETRI_REPLY_H
#define PETRI_REPLY_H

#include "kernel/jupyter/request.h"

struct jupyter;

/* Says that the request is being worked on. */
void reply_busy(struct jupyter *jupyter, const struct request *request);

/* Answers on the request's own channel. metadata (NULL allowed) and content are stolen. */
void reply_send(struct jupyter *jupyter, const struct request *request, const char *msg_type, json_t *metadata,
                json_t *content);

/* Answers that the request failed, under the name of its kind of reply; what is no "..._request" gets none. */
void reply_error(struct jupyter *jupyter, const struct request *request, const char *ename, const char *evalue);

/* Answers each execute_request of a queue, which is empty then, that it is not run, for one before it has failed. See:
 * Jupyter messaging, "Request-Reply". */
void reply_aborted(struct jupyter *jupyter, struct request_queue *requests);

/* Says that the request is done with, and frees it. Where a cell runs meanwhile it is said once more to be busy. */
void reply_idle(struct jupyter *jupyter, struct request *request);

#endif
