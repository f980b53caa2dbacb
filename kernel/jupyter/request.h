/*
 * request.h - a message that asks for something, from its arrival to its idle status.
 */
#ifndef PETRI_REQUEST_H
#define PETRI_REQUEST_H

#include "protocol/connection.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

struct route;

struct request {
    struct request *next;      /* in a request_queue */
    enum channel channel;      /* where it came from and its reply goes to */
    const struct route *route; /* how it is handled; static */
    int64_t arrived_us;
    uint64_t bytes;         /* of memory that it takes */
    uint64_t order;         /* of those that have waited for a run: waiting_push() */
    struct message message; /* owned */
};

/* Steals message, also on failure. NULL on ENOMEM. */
struct request *request_create(enum channel channel, const struct route *route, struct message *message);
void request_destroy(struct request *request);

/* A field of the request's content, or the given value where it is missing or has another type. */
bool request_bool(const struct request *request, const char *key, bool otherwise);
const char *request_string(const struct request *request, const char *key, const char *otherwise);

/* Requests in the order of their arrival; owns what is in it. All zero is an empty queue. */
struct request_queue {
    struct request *first;
    struct request *last;
    uint64_t bytes; /* of all */
};

void request_queue_push(struct request_queue *queue, struct request *request);

/* The oldest, which is the caller's from now on; NULL where there is none. */
struct request *request_queue_pop(struct request_queue *queue);

/* Takes one out of the queue that it is in; it is the caller's from now on. */
void request_queue_take(struct request_queue *queue, struct request *request);

/* Moves all requests of one route, in their order, to the end of another queue. */
void request_queue_move(struct request_queue *from, const struct route *route, struct request_queue *to);

void request_queue_clear(struct request_queue *queue);

#endif
