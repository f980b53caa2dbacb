/*
 * secret.h - memory for keys that is in no core dump and, after secret_withhold(), in no forked process.
 *
 * sodium_malloc() excludes its memory from core dumps but not from forks, and its
 * pages, which madvise(2) needs, are not known.
 *
 * See: MADV_DONTFORK, MADV_DONTDUMP in madvise(2).
 */
#ifndef PETRI_SECRET_H
#define PETRI_SECRET_H

#include <stddef.h>

/* Zeroed memory in its own pages; the caller's: secret_free(). NULL on failure. */
void *secret_alloc(size_t bytes);

/* From now on forked processes don't have this memory: an access faults. 0 or -errno. */
int secret_withhold(void *memory, size_t bytes);

/* Wipes and frees it; bytes as for secret_alloc(). NULL is allowed. */
void secret_free(void *memory, size_t bytes);

#endif
