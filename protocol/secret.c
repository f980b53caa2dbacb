/*
 * secret.c - allocates whole pages with mmap(2), so that madvise(2) affects only the key.
 *
 * mmap(2) returns whole pages, so no two keys share one. If the memory can't be
 * excluded from core dumps, the allocation fails.
 */

#define _GNU_SOURCE
#include "secret.h"

#include <errno.h>
#include <sodium.h>
#include <sys/mman.h>

void *secret_alloc(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (madvise(memory, bytes, MADV_DONTDUMP) != 0) {
        (void)munmap(memory, bytes);
        return NULL;
    }
    return memory;
}

int secret_withhold(void *memory, size_t bytes) {
    return madvise(memory, bytes, MADV_DONTFORK) == 0 ? 0 : -errno;
}

void secret_free(void *memory, size_t bytes) {
    if (memory) {
        sodium_memzero(memory, bytes);
        (void)munmap(memory, bytes);
    }
}
