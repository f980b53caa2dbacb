/*
 * huge_pages.h - an image's memory in huge pages, so that its copies cost less.
 *
 * fork(2) copies an entry for each page that an image has, and the end of a copy looks
 * at each again: a million small objects double what a cell costs (docs/performance.md).
 * Of a huge page there is one entry for its 512. A cell that writes into one gets the
 * small page that it writes, as always; from then on this huge page has an entry for each.
 *
 * It takes Linux some milliseconds for each, so it is done while nobody waits.
 *
 * See: madvise(2), MADV_COLLAPSE (Linux 6.1); proc_pid_pagemap(5).
 */
#ifndef PETRI_SANDBOX_IMAGE_HUGE_PAGES_H
#define PETRI_SANDBOX_IMAGE_HUGE_PAGES_H

#include "sandbox/inject/inject.h"

#include <sys/mman.h>

enum { HUGE_PAGE_BYTES = 2 << 20 };

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* The first range of a huge page at or behind an address, and whether one ends before end. */
static inline uint64_t huge_pages_first(uint64_t address) {
    return (address + HUGE_PAGE_BYTES - 1) / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES;
}
static inline bool huge_pages_has_range(uint64_t address, uint64_t end) {
    return address < end && end - address >= HUGE_PAGE_BYTES;
}

/* The ranges of a session's memory that were collapsed, or could not be: ascending, each of one huge page. */
struct huge_pages {
    uint64_t *address;
    size_t n;
};

void huge_pages_fini(struct huge_pages *huge);

/*
 * Has a keeper collapse what is full of small private pages, each range once until it was
 * seen empty: one that cells write into would be taken apart by each of them again.
 * ret_n: how many were. What a copy of the keeper shares with it is there twice afterwards.
 * 1; 0 where is_idle(arg) ended it before; -EUCLEAN or -errno.
 */
int huge_pages_collapse(struct huge_pages *huge, const struct inject_task *keeper, cell_is_idle *is_idle, void *arg,
                        size_t *ret_n) MUST_CHECK;

#endif
