#include "error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int error_vset(struct error *ret_error, int err, const char *format, va_list args) {
    if (ret_error) {
        struct error error = {.err = err};
        vsnprintf(error.text, sizeof error.text, format, args);
        *ret_error = error;
    }
    return err ? -err : -EIO;
}

int error_set(struct error *ret_error, int err, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int r = error_vset(ret_error, err, format, args);
    va_end(args);
    return r;
}

int error_set_errno(struct error *ret_error, int err) {
    return error_set(ret_error, err, "%s", strerror(err));
}
