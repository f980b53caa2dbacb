/* sandbox_error.c - copies the sentence about a failed step of the sandbox into an error of the kernel. */

#include "sandbox_error.h"

int error_set_sandbox(struct error *ret_error, int r, const struct error *cause) {
    if (r && ret_error) {
        sandbox_error_text(cause, ret_error->text, sizeof ret_error->text);
        ret_error->err = cause->err;
        ret_error->step = cause->step;
    }
    return r;
}
