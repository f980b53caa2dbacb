/*
 * error.h - what went wrong: an errno for the program, and one sentence for people.
 *
 * The caller has one on its stack and gives it to what can fail, as the last
 * parameter, ret_error. It is filled where something fails, by the function that
 * knows best, and untouched on success; so each layer returns -errno as ever, and
 * adds only what it knows more: where the clause of a lower layer becomes a part
 * of a sentence, that layer gets a struct error of the caller's own.
 *
 *     struct error cause;
 *     int fd = host_file_open(AT_FDCWD, path, &wanted, &cause);
 *     if (fd < 0)
 *         return error_set(ret_error, -fd, "%s can't be read: %s", path, cause.text);
 *
 * See: GLib, "Error Reporting"; sd-bus-errors(3); OpenSSH, the ssherr module.
 */
#ifndef PETRI_BASE_ERROR_H
#define PETRI_BASE_ERROR_H

#include <stdarg.h>

/* A sentence with a long path in it; small enough that processes tell each other by one write to a pipe. */
enum { ERROR_TEXT_BYTES = 2048 };

struct error {
    int err;                     /* errno, positive; 0 where there is none */
    int step;                    /* of making a sandbox: sandbox/base/step.h; 0 for anything else */
    char text[ERROR_TEXT_BYTES]; /* one sentence, or a clause of one where the function says so */
};

/*
 * Fills ret_error, which may be NULL, with an errno and a printf-style text,
 * which loses its middle where it is too long and may be made of ret_error's own.
 * Returns -err, or -EIO where err is 0, so that a function can end with it.
 */
int error_set(struct error *ret_error, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int error_vset(struct error *ret_error, int err, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* The same with what strerror(3) says as its text. */
int error_set_errno(struct error *ret_error, int err);

#endif
