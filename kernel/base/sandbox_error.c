/* sandbox_error.c - the sentence of a sandbox's step, in a struct error of the kernel's. */

#include "sandbox_error.h"

int error_set_sandbox(struct error *ret_error, int r, const struct error *cause) {
    if (ret_error) {
        sandbox_error_text(cause, ret_error->text, sizeof ret_error->text);
        ret_error->err = cause->err;
        ret_error->step = cause->step;
    }
    return r;
}
