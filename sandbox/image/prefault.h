/*
 * prefault.h - page faults taken before a cell starts instead of while it runs.
 *
 * A copy of an image shares all pages until they are written, and has no page
 * tables for file mappings. Interpreters write the same few hundred pages in
 * every cell (reference counts). To copy those pages ahead takes as long as the
 * faults would, some microseconds a page: so it is done while no client waits, and
 * left out where one does.
 *
 * See: madvise(2), MADV_POPULATE_WRITE; proc_pid_pagemap(5).
 */
#ifndef PETRI_SANDBOX_IMAGE_PREFAULT_H
#define PETRI_SANDBOX_IMAGE_PREFAULT_H

#include "sandbox/inject/inject.h"

enum { PREFAULT_MAX_PAGES = 4096 }; /* 16 MiB */

/* Pages that are about to be written, or have been. */
struct prefault {
    size_t n;
    uint64_t page[PREFAULT_MAX_PAGES]; /* addresses, ascending */
};

/*
 * Finds out from a task that does not run what its cell has written: the pages of private
 * memory that it shares with no copy, without those that are known, and the first
 * of them where they are too many. Some milliseconds for a large image; what is too
 * large to be an interpreter's habit is left out. 0 or -errno.
 */
int prefault_sample(pid_t pid, const struct prefault *known, struct prefault *ret);

/* Adds to known what is in both a and b, of which it has none: the first of it where there is no room for all. */
void prefault_add_common(struct prefault *known, const struct prefault *a, const struct prefault *b);

/* Has a stopped task populate the pages, as long as is_idle(arg) says that there is time; those that are no longer
 * there are passed over. 0, -EUCLEAN or -errno. */
int prefault_apply(const struct prefault *prefault, const struct inject_task *task, cell_is_idle *is_idle, void *arg);

/*
 * Makes Linux copy the page tables of a stopped process' private file mappings
 * (code, constants) with every copy of it: it does so only for mappings that
 * have a page of their own. 0 or -errno.
 */
int prefault_keep_tables(pid_t pid, int memory_fd);

#endif
