/*
 * large_mappings.h - has Linux copy mappings that are larger than the machine's memory.
 *
 * See: overcommit_memory in proc_sys_vm(5), MADV_DONTDUMP in madvise(2).
 */
#ifndef PETRI_SANDBOX_IMAGE_LARGE_MAPPINGS_H
#define PETRI_SANDBOX_IMAGE_LARGE_MAPPINGS_H

#include "base/cleanup.h"
#include "sandbox/inject/inject.h"

/* Has a keeper divide such mappings of its own, after fork(2) has failed. How many parts there are, 0 where there was
 * nothing to divide; -EUCLEAN or -errno. */
int large_mappings_divide(const struct inject_task *keeper) MUST_CHECK;

#endif
