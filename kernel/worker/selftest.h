/*
 * selftest.h - one cell from end to end, without any client: whether this machine can do it.
 */
#ifndef PETRI_SELFTEST_H
#define PETRI_SELFTEST_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/files/workdir.h"
#include "sandbox/sandbox.h"

/*
 * Starts the worker on an interpreter (an absolute path), makes it an image and
 * runs one cell of it. host is what sandbox_enter() has made of workdir.
 * Blocks until that is done, for a minute at most. 0, or -errno with one
 * sentence in ret_error.
 */
int selftest_run(const struct sandbox_host *host, const struct workdir *workdir, const char *python,
                 struct error *ret_error) MUST_CHECK;

#endif
