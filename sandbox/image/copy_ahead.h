/*
 * copy_ahead.h - memory that a running cell writes through is copied in large pieces.
 *
 * The first write to a page that the cell shares with the image copies this page: an array
 * that is changed in place takes a fault for each 4 KiB of it, some ten times as long as the
 * change. Where a cell can be seen to go through a mapping from page to page, the pages
 * that it will come to next are copied for it: each range of a huge page at once, into one.
 *
 * To copy a private page changes nothing that a cell can see, whether it writes the page
 * or not, and Linux does it between two of its instructions: the cell goes on meanwhile.
 *
 * See: madvise(2), MADV_POPULATE_WRITE, MADV_COLLAPSE (Linux 6.1); proc_pid_pagemap(5).
 */
#ifndef PETRI_SANDBOX_IMAGE_COPY_AHEAD_H
#define PETRI_SANDBOX_IMAGE_COPY_AHEAD_H

#include "sandbox/inject/inject.h"

/* What is being copied in a cell; all 0 before. */
struct copy_ahead {
    uint64_t address, ranges; /* the next ranges of a huge page that are copied */
    uint64_t populated;       /* of these, in the step that is at work */
    struct inject_pending pending;
    struct errand *look; /* what finds them; or NULL */
};

/*
 * Begins to find what a running cell is about to write, at most so many bytes, which are whole
 * pages of the image: looks at all mappings of its process, a millisecond for each gigabyte. A
 * thread does it, because the cell may hold the lock that to read them takes. 0 or -errno.
 */
int copy_ahead_look(struct copy_ahead *copy, pid_t pid, uint64_t most_bytes) MUST_CHECK;

/*
 * Takes what was found, if it is known in a millisecond; copy's work must be done. 1 with *ret_bytes: how much that
 * is; 0 where it is not known yet; or -errno.
 */
int copy_ahead_take(struct copy_ahead *copy, uint64_t *ret_bytes) MUST_CHECK;

/* Whether there is something to copy. */
bool copy_ahead_has_work(const struct copy_ahead *copy);

/*
 * Has the cell's keeper copy it, as long as has_time(arg). What is at work then goes on with the
 * next call, the rest is given up. *ret_bytes: how much was copied. 0; -EUCLEAN where the keeper
 * has done something else, and is killed; or -errno: Linux has no huge page to give, or the
 * memory is gone.
 */
int copy_ahead_make(struct copy_ahead *copy, const struct inject_task *keeper, cell_is_idle *has_time, void *arg,
                    uint64_t *ret_bytes) MUST_CHECK;

/* Waits for a call that is at work, once the cell's tasks are stopped, and for no look. 0, -EUCLEAN or -errno. */
int copy_ahead_end(struct copy_ahead *copy, const struct inject_task *keeper) MUST_CHECK;

#endif
