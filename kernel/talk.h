/*
 * talk.h - what the session's worker says, and what is done about it.
 *
 * See: docs/worker-wire.md.
 */
#ifndef PETRI_TALK_H
#define PETRI_TALK_H

#include "kernel/worker_link.h"
#include "protocol/message.h"

struct kernel;

/* Handles the frames that have come on the runner's link, some at a time. */
void talk_frames(struct kernel *kernel);

/* Sends a frame with the buffers of a message. frame NULL is -ENOMEM. 0 or -errno. */
int talk_send(struct worker_link *link, const json_t *frame, const struct frame *buffers,
              size_t n_buffers) KERNEL_MUST_CHECK;

/* Answers a publish or sync, also one that had nothing to wait for. 0 or -errno. */
int talk_ack(struct worker_link *link, const json_t *frame) KERNEL_MUST_CHECK;

#endif
