/* request.c - creates and destroys requests, and queues them in a linked list. */

#include "request.h"

#include "kernel/base/clock.h"

#include <stdlib.h>

struct request *request_create(enum channel channel, const struct route *route, struct message *message) {
    struct request *request = calloc(1, sizeof *request);
    if (!request) {
        message_fini(message);
        return NULL;
    }
    request->channel = channel;
    request->route = route;
    request->arrived_us = clock_us();
    request->bytes = sizeof *request + message->bytes;
    request->message = *message;
    *message = (struct message){0};
    return request;
}

void request_destroy(struct request *request) {
    if (!request)
        return;
    message_fini(&request->message);
    free(request);
}

bool request_bool(const struct request *request, const char *key, bool otherwise) {
    const json_t *value = json_object_get(request->message.content, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

const char *request_string(const struct request *request, const char *key, const char *otherwise) {
    const char *value = json_string_value(json_object_get(request->message.content, key));
    return value ? value : otherwise;
}

void request_queue_push(struct request_queue *queue, struct request *request) {
    request->next = NULL;
    if (queue->last)
        queue->last->next = request;
    else
        queue->first = request;
    queue->last = request;
    queue->bytes += request->bytes;
}

struct request *request_queue_pop(struct request_queue *queue) {
    struct request *request = queue->first;
    if (!request)
        return NULL;
    queue->first = request->next;
    if (!queue->first)
        queue->last = NULL;
    queue->bytes -= request->bytes;
    request->next = NULL;
    return request;
}

void request_queue_take(struct request_queue *queue, struct request *request) {
    struct request_queue all = *queue;
    struct request *other;
    *queue = (struct request_queue){0};
    while ((other = request_queue_pop(&all)))
        if (other != request)
            request_queue_push(queue, other);
}

void request_queue_move(struct request_queue *from, const struct route *route, struct request_queue *to) {
    struct request_queue all = *from;
    struct request *request;
    *from = (struct request_queue){0};
    while ((request = request_queue_pop(&all)))
        request_queue_push(request->route == route ? to : from, request);
}

void request_queue_clear(struct request_queue *queue) {
    struct request *request;
    while ((request = request_queue_pop(queue)))
        request_destroy(request);
}
