/*
 * sandbox_error.h - what sandbox/ says of a step that failed, as any error of the kernel's.
 */
#ifndef PETRI_SANDBOX_ERROR_TEXT_H
#define PETRI_SANDBOX_ERROR_TEXT_H

#include "base/error.h"
#include "sandbox/sandbox.h"

/*
 * Fills ret_error, which may be NULL, with the step, its errno and the sentence
 * of sandbox_error_text(). cause is the caller's own, all zero before the call
 * that failed: ret_error may hold anything, and stays untouched on success.
 * Returns r.
 */
int error_set_sandbox(struct error *ret_error, int r, const struct error *cause);

#endif
