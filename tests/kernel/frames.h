/*
 * frames.h - frames as a worker sends them, for tests of what becomes of them.
 */
#ifndef PETRI_FRAMES_H
#define PETRI_FRAMES_H

#include "kernel/worker/published.h"

/* Takes a frame with this content and metadata (or NULL), which are stolen, and a buffer of so many bytes. The
 * caller's: published_fini(). */
struct published frames_take(const char *msg_type, json_t *content, json_t *metadata, size_t buffer_bytes);

/* A string of so many bytes. The caller's. */
json_t *frames_text(size_t bytes);

/* Writes a frame to the kernel's end of a socket; json is stolen. */
void frames_say(int fd, json_t *json);

#endif
