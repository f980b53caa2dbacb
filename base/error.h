/*
 * error.h - an errno for the program, and one sentence for people.
 *
 * The caller has a struct error on its stack and passes it as the last parameter,
 * ret_error, to functions that can fail. The function that fails fills it; on
 * success it is not changed. Functions also return -errno. Where the text of a
 * lower layer becomes part of a sentence, the caller passes a second struct error
 * to that layer:
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

/* Enough for a sentence with a long path; small enough that processes can send an error with one write to a pipe. */
enum { ERROR_TEXT_BYTES = 2048 };

struct error {
    int err;                     /* errno, positive; 0 where there is none */
    int step;                    /* of making a sandbox: sandbox/base/step.h; 0 for other errors */
    char text[ERROR_TEXT_BYTES]; /* one sentence, or a clause of one where the function says so */
};

/*
 * Fills ret_error, unless it is NULL, with an errno and a printf-style text,
 * whose middle is cut where it is too long; the arguments may include
 * ret_error->text. Returns -err, or -EIO where err is 0, so that a function can
 * return the result.
 */
int error_set(struct error *ret_error, int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int error_vset(struct error *ret_error, int err, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* The same with the text of strerror(3). */
int error_set_errno(struct error *ret_error, int err);

#endif
