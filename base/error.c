/*
 * error.c - formats the text of an error within the room that there is for it.
 */

#include "error.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Cuts the middle of a text that is too long, because a sentence begins with what failed and ends with why. */
static void put_text(struct error *error, const char *text, size_t n) {
    static const char gap[] = "...";
    const size_t room = sizeof error->text - 1, end = (room - strlen(gap)) / 2, begin = room - strlen(gap) - end;
    if (n <= room)
        memcpy(error->text, text, n + 1);
    else
        snprintf(error->text, sizeof error->text, "%.*s%s%s", (int)begin, text, gap, text + n - end);
}

/* Allocates no memory: there may be none, or it may be shared with a parent process that waits (CLONE_VM). */
int error_vset(struct error *ret_error, int err, const char *format, va_list args) {
    char text[PATH_MAX + ERROR_TEXT_BYTES]; /* not ret_error->text, because args may point to it */
    if (ret_error) {
        int n = vsnprintf(text, sizeof text, format, args);
        ret_error->err = err;
        ret_error->step = 0;
        put_text(ret_error, n < 0 ? "" : text, n < 0 ? 0 : strlen(text));
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
