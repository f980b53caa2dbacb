/*
 * content.h - what waits in a pipe or socket, piece by piece, as it was written.
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_CONTENT_H
#define PETRI_SANDBOX_DESCRIPTORS_CONTENT_H

#include "sandbox/sandbox.h"

/* All zero is none; data is owned: free(). */
struct content {
    size_t bytes;
    char *data; /* each piece behind its length, a uint32_t */
};

/* Appends a piece; data is copied. *room is what may still be added to this or others. 0, -E2BIG, or -ENOMEM. */
int content_add(struct content *content, const void *data, uint32_t bytes, uint64_t *room) MUST_CHECK;

/* The piece at *at, which moves behind it; borrowed. NULL at the end. */
const char *content_next(const struct content *content, size_t *at, uint32_t *ret_bytes);

#endif
