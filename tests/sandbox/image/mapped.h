/*
 * mapped.h - memory for cases about huge pages: mapped and written by whole cells.
 */
#ifndef PETRI_TESTS_MAPPED_H
#define PETRI_TESTS_MAPPED_H

#include "tests/sandbox/live.h"

#include "sandbox/inject/tracee.h"
#include "sandbox/session/session.h"

#include <sys/mman.h>
#include <sys/syscall.h>

enum { MAPPED_HUGE = HUGE_PAGE_BYTES, MAPPED_PAGE = 4096 };

static inline long mapped_make(struct live *live, size_t bytes) {
    return live_call(live, SYS_mmap, "0 %zu %d %d -1 0", bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
}

static inline void mapped_fill(struct live *live, long at, size_t bytes) {
    CHECK_EQUAL(live_call(live, SYS_madvise, "%ld %zu %d", at, bytes, MADV_POPULATE_WRITE), 0);
}

/* So many ranges of a huge page, written: of one more, which is sure to have them aligned. */
static inline long mapped_make_full(struct live *live, size_t ranges) {
    const long at = mapped_make(live, (ranges + 1) * MAPPED_HUGE);
    mapped_fill(live, at, (ranges + 1) * MAPPED_HUGE);
    return (at + MAPPED_HUGE - 1) / MAPPED_HUGE * MAPPED_HUGE;
}

/* A byte of the session's image. */
static inline void mapped_put(const struct live *live, long at, char value) {
    CHECK_EQUAL(memory_write(live->session->current->memory_fd, (uint64_t)at, &value, 1), 0);
}

static inline char mapped_get(const struct live *live, long at) {
    char value = 0;
    CHECK_EQUAL(memory_read(live->session->current->memory_fd, (uint64_t)at, &value, 1), 0);
    return value;
}

#endif
