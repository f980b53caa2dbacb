/*
 * etc.h - the minimal /etc of a sandbox.
 */
#ifndef PETRI_SANDBOX_MOUNTS_ETC_H
#define PETRI_SANDBOX_MOUNTS_ETC_H

#include "sandbox/sandbox.h"

/* Writes /etc's files: some made up, with the host name that this process sees, some copied from the host's root at
 * old. 0 or -errno. */
int etc_build(const char *old, struct error *ret_error);

#endif
