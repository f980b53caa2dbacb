/*
 * sandbox_error.h - turns an error of sandbox/ into one of the kernel, with a sentence for people.
 */
#ifndef PETRI_SANDBOX_ERROR_TEXT_H
#define PETRI_SANDBOX_ERROR_TEXT_H

#include "base/error.h"
#include "sandbox/sandbox.h"

/*
 * Fills ret_error, unless it is NULL, with the step, its errno and the sentence
 * of sandbox_error_text(). cause is the error of the failed call, and was all
 * zero before it. ret_error need not be initialised, and is not changed on
 * success. Returns r.
 */
int error_set_sandbox(struct error *ret_error, int r, const struct error *cause);

#endif
