/*
 * secret.h - memory for keys: not in core dumps, and, once withheld, not in forked processes.
 *
 * Ours, because sodium_malloc() keeps its memory out of dumps but not out of
 * forks, and doesn't say where its pages begin, which madvise(2) needs.
 *
 * See: MADV_DONTFORK, MADV_DONTDUMP in madvise(2).
 */
#ifndef PETRI_SECRET_H
#define PETRI_SECRET_H

#include <stddef.h>

/* Zeroed memory, in pages of its own: the caller's, secret_free(). NULL where there is none. */
void *secret_alloc(size_t bytes);

/* From now on a process that is forked has no such memory: what it does there is a fault. 0 or -errno. */
int secret_withhold(void *memory, size_t bytes);

/* Wipes it and gives it back; bytes as it was asked for. NULL is allowed. */
void secret_free(void *memory, size_t bytes);

#endif
