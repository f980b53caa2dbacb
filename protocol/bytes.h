/*
 * bytes.h - a growing run of bytes, for functions that build text.
 *
 * Failure is sticky: once an allocation has failed, bytes_ok() is false. So a
 * writer appends without checks, and calls bytes_ok() once at its end.
 *
 * It is used instead of open_memstream(3), which locks a stream for each piece,
 * because JSON is written in pieces of a byte.
 */
#ifndef PETRI_BYTES_H
#define PETRI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct bytes {
    char *data; /* malloc'ed, not NUL-terminated; NULL while empty */
    size_t n;
    size_t capacity;
    bool failed;
};

/* Makes room for more bytes after the n that it has. False once an allocation has failed. */
bool bytes_reserve(struct bytes *bytes, size_t more);

/* Frees the memory and leaves an empty run that can be used again. */
void bytes_fini(struct bytes *bytes);

/* Whether everything that was appended is there. */
static inline bool bytes_ok(const struct bytes *bytes) {
    return !bytes->failed;
}

static inline void bytes_append(struct bytes *bytes, const void *data, size_t n) {
    if (n == 0 || (n > bytes->capacity - bytes->n && !bytes_reserve(bytes, n)))
        return;
    memcpy(bytes->data + bytes->n, data, n);
    bytes->n += n;
}

/* text is a string literal or another NUL-terminated string. */
static inline void bytes_append_text(struct bytes *bytes, const char *text) {
    bytes_append(bytes, text, strlen(text));
}

#define auto_bytes __attribute__((cleanup(bytes_fini))) struct bytes

#endif
