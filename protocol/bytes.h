/*
 * bytes.h - a growing run of bytes, for everything here that builds text.
 *
 * Failure is sticky: after an allocation has failed some of what is appended is
 * lost, so a writer appends freely and asks bytes_ok() once, at its end.
 *
 * Ours, because open_memstream(3) goes through a stream and its lock for each
 * piece, and JSON is written in pieces of a byte.
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

/* Makes room for more bytes after the n that are there, growing by half at least. False once memory ran out. */
bool bytes_reserve(struct bytes *bytes, size_t more);

/* Frees the memory and leaves an empty run that can be used again. */
void bytes_fini(struct bytes *bytes);

/* Whether everything appended so far is really there. */
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
