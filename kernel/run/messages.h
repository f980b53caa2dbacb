/*
 * messages.h - the frames of a running cell: messages to publish, and questions to ask.
 *
 * See: docs/worker-wire.md.
 */
#ifndef PETRI_MESSAGES_H
#define PETRI_MESSAGES_H

#include "kernel/worker/exchange.h"

/* For the exchange with a run's cell; arg is the struct run. */
extern const struct exchange_calls messages_calls;

#endif
