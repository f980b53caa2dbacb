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

/*
 * Has the keeper of a running cell copy what the cell is about to write, at most so many
 * bytes. Looks at all mappings, a millisecond for each gigabyte, as long as has_time(arg).
 * *ret_bytes: how much was copied. 0; -EUCLEAN where the keeper has done something else, and
 * is killed; or -errno: Linux has no huge page to give, or the memory is gone.
 */
int copy_ahead(const struct inject_task *keeper, uint64_t most_bytes, cell_is_idle *has_time, void *arg,
               uint64_t *ret_bytes) MUST_CHECK;

#endif
