/*
 * selftest.h - runs one cell without a client, to find out whether this machine can.
 */
#ifndef PETRI_SELFTEST_H
#define PETRI_SELFTEST_H

#include "base/cleanup.h"
#include "base/error.h"
#include "kernel/files/workdir.h"
#include "sandbox/sandbox.h"

/*
 * Starts the worker with an interpreter (an absolute path), makes an image of it
 * and runs one cell. host is the result of sandbox_enter() for workdir. Blocks
 * until that is done, for a minute at most. 0, or -errno with one sentence in
 * ret_error.
 */
int selftest_run(const struct sandbox_host *host, const struct workdir *workdir, const char *python,
                 struct error *ret_error) MUST_CHECK;

#endif
