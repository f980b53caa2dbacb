/*
 * wire.h - the stream between the kernel and the worker.
 *
 * A frame is, all integers little-endian:
 *
 *     u32 json_bytes | u32 n_buffers | u32 buffer_bytes[n_buffers] | json | buffers
 *
 * Everything that the worker sends may be hostile: lengths are checked against
 * the reader's caps before anything is allocated, and the JSON against the schema
 * of its "type". See: docs/worker-wire.md.
 *
 * The format is petri's own, because the worker should need only Python's struct
 * and json.
 */
#ifndef PETRI_WIRE_H
#define PETRI_WIRE_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_MAX_BUFFERS 256
#define WIRE_MAX_DEPTH 256                /* nesting of a frame's JSON */
#define WIRE_MAX_VALUES ((size_t)1 << 20) /* in it, as text_parse_capped() counts: some 100 MB at most */

/* A binary buffer beside the JSON. */
struct wire_buffer {
    const void *data;
    size_t bytes;
};

/* One frame taken from a reader. json is owned by the frame; buffers point into the reader until its next wire_read_*()
 * call. */
struct wire_frame {
    json_t *json;
    size_t n_buffers;
    struct wire_buffer buffers[WIRE_MAX_BUFFERS];
};

struct wire_reader;

/* max_bytes: cap on one frame, header, JSON and buffers together. NULL on ENOMEM. */
struct wire_reader *wire_reader_create(size_t max_bytes);
void wire_reader_destroy(struct wire_reader *reader);

/*
 * Reads what a non-blocking socket has (one read(2), bounded). Returns the number
 * of bytes, 0 at end of file, -EAGAIN, or another -errno: -ENOBUFS where the
 * buffer is full and frames have to be taken first, -ENOMEM, or the error with
 * which wire_reader_next() has refused the stream.
 */
ssize_t wire_reader_fill(struct wire_reader *reader, int fd) MUST_CHECK;

/* The same from memory and without a bound, for tests and the fuzz target. 0, -ENOMEM, or the error with which the
 * stream was refused. */
int wire_reader_feed(struct wire_reader *reader, const void *data, size_t bytes) MUST_CHECK;

/*
 * Takes the next whole frame. Returns 1 with ret_frame filled (the caller's:
 * wire_frame_fini()), 0 where more bytes are needed, -ENOMEM, -EMSGSIZE over the
 * cap, -E2BIG over WIRE_MAX_VALUES, -EBADMSG where it is not a frame. After the
 * last three the stream can't be used any more, and every call returns the same
 * error. A frame over the cap is refused from its header alone.
 */
int wire_reader_next(struct wire_reader *reader, struct wire_frame *ret_frame) MUST_CHECK;
void wire_frame_fini(struct wire_frame *frame);

/*
 * Encodes a frame: ret_data is malloc'ed and the caller's. -EINVAL for more
 * than WIRE_MAX_BUFFERS, lengths over 32 bits or JSON nested too deeply,
 * -ENOMEM.
 */
int wire_encode(const json_t *json, const struct wire_buffer *buffers, size_t n_buffers, void **ret_data,
                size_t *ret_bytes) MUST_CHECK;

/* The frames of a worker. */
enum wire_type {
    WIRE_HELLO,    /* the interpreter runs: language_info */
    WIRE_READY,    /* the interpreter has started, and is about to block on its socket */
    WIRE_PUBLISH,  /* a message for iopub */
    WIRE_SYNC,     /* asks to read the pipes before it continues; answered with an ack */
    WIRE_INPUT,    /* input() or getpass() */
    WIRE_VARIABLE, /* an environment variable was set by a magic; its value must not be stored */
    WIRE_DONE,     /* the request is done; content of the reply */
    WIRE_N_TYPES,
};

/*
 * Checks a frame's JSON against the schema of its type (docs/worker-wire.md):
 * required keys, their types, and for a publish that msg_type is one that a
 * worker may publish. 0, or -EBADMSG with the first problem in ret_why (a static
 * string).
 */
int wire_check(const json_t *json, enum wire_type *ret_type, const char **ret_why) MUST_CHECK;

#endif
