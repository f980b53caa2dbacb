/*
 * messages.h - what the session's running cell says: its messages are published, its questions asked.
 *
 * See: docs/worker-wire.md.
 */
#ifndef PETRI_MESSAGES_H
#define PETRI_MESSAGES_H

#include "kernel/worker/exchange.h"

/* Of the exchange with a run's cell; arg is the struct runner. */
extern const struct exchange_calls messages_calls;

#endif
