/*
 * dispatch.h - which requests may come on which channel, and how they are handled.
 */
#ifndef PETRI_DISPATCH_H
#define PETRI_DISPATCH_H

#include "kernel/jupyter/route.h"
#include "protocol/connection.h"

#include <stddef.h>

struct kernel;

/* Routes in the order of msg_type. */
extern const struct route dispatch_routes[];
extern const size_t dispatch_n_routes;

/* The route of a message type on a channel, or NULL. */
const struct route *dispatch_find(const char *msg_type, enum channel channel);

/* poll_handlers (arg: struct kernel): each takes some of the messages that have arrived on its channel. */
void dispatch_shell(void *arg, short events);
void dispatch_control(void *arg, short events);

/* How many messages each takes at most in a turn. */
enum { DISPATCH_PER_TURN = 32 };

/* Takes at most n of the messages that have arrived on a channel. */
void dispatch_take(struct kernel *kernel, enum channel channel, int n);

#endif
