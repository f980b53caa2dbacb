/*
 * wire_reader.c - reads frames from a stream.
 *
 * A frame is refused for its lengths as soon as these have arrived. At most the
 * cap and one read(2) are kept in memory. A stream with a wrong frame can't be
 * used any more, because the beginning of the next frame is not known.
 */

#include "bytes.h"
#include "text.h"
#include "wire.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    READ_BYTES = 64 * 1024,       /* room made for a read(2) */
    MAX_READ_BYTES = 1024 * 1024, /* what one call of wire_reader_fill() takes at most */
    KEPT_BYTES = 256 * 1024,      /* memory kept while nothing is waiting */
};

/* Bytes are appended to held and taken from the offset taken. */
struct wire_reader {
    size_t max_bytes;
    struct bytes held;
    size_t taken;
    int failed; /* the -errno that the stream was refused with */
};

/* A frame's lengths, checked against the caps. */
struct head {
    size_t head_bytes, json_bytes, frame_bytes;
    size_t n_buffers;
};

struct wire_reader *wire_reader_create(size_t max_bytes) {
    struct wire_reader *reader = calloc(1, sizeof *reader);
    if (reader)
        reader->max_bytes = max_bytes;
    return reader;
}

void wire_reader_destroy(struct wire_reader *reader) {
    if (reader) {
        bytes_fini(&reader->held);
        free(reader);
    }
}

/*
 * Makes room for n more bytes. The rest of earlier reads is moved to the front
 * only if at least as many bytes have been taken as are left, so each byte is
 * moved once on average, however small the reads are.
 */
static int make_room(struct wire_reader *reader, size_t n) {
    struct bytes *held = &reader->held;
    size_t left = held->n - reader->taken;
    if (left == 0 && held->capacity > KEPT_BYTES) {
        bytes_fini(held);
        reader->taken = 0;
    } else if (reader->taken >= left && reader->taken > 0) {
        memmove(held->data, held->data + reader->taken, left);
        held->n = left;
        reader->taken = 0;
    }
    if (!bytes_reserve(held, n)) {
        held->failed = false; /* nothing was written: the call may be repeated */
        return -ENOMEM;
    }
    return 0;
}

ssize_t wire_reader_fill(struct wire_reader *reader, int fd) {
    if (reader->failed < 0)
        return reader->failed;
    struct bytes *held = &reader->held;
    if (held->n - reader->taken > reader->max_bytes)
        return -ENOBUFS;
    int r = make_room(reader, READ_BYTES);
    if (r < 0)
        return r;
    size_t room = held->capacity - held->n;
    ssize_t n = read(fd, held->data + held->n, room < MAX_READ_BYTES ? room : MAX_READ_BYTES);
    if (n < 0)
        return -errno;
    held->n += (size_t)n;
    return n;
}

int wire_reader_feed(struct wire_reader *reader, const void *data, size_t bytes) {
    if (reader->failed < 0)
        return reader->failed;
    int r = make_room(reader, bytes);
    if (r < 0)
        return r;
    bytes_append(&reader->held, data, bytes);
    return 0;
}

static size_t get_u32(const char *at) {
    const unsigned char *bytes = (const unsigned char *)at;
    return (size_t)bytes[0] | (size_t)bytes[1] << 8 | (size_t)bytes[2] << 16 | (size_t)bytes[3] << 24;
}

/* 1 with the lengths, 0 where not all of them have arrived, -EMSGSIZE, -EBADMSG. */
static int read_head(const char *at, size_t left, size_t max_bytes, struct head *ret) {
    if (left < 8)
        return 0;
    struct head head = {.json_bytes = get_u32(at), .n_buffers = get_u32(at + 4)};
    if (head.json_bytes == 0 || head.n_buffers > WIRE_MAX_BUFFERS)
        return -EBADMSG;
    head.head_bytes = 8 + 4 * head.n_buffers;
    head.frame_bytes = head.head_bytes + head.json_bytes;
    for (size_t i = 0; i < head.n_buffers && left >= 12 + 4 * i; i++)
        head.frame_bytes += get_u32(at + 8 + 4 * i);
    if (head.frame_bytes > max_bytes)
        return -EMSGSIZE;
    if (left < head.head_bytes)
        return 0;
    *ret = head;
    return 1;
}

static int parse_json(const char *text, size_t bytes, json_t **ret) {
    json_t *json;
    int r = text_parse_capped(text, bytes, WIRE_MAX_DEPTH, WIRE_MAX_VALUES, &json);
    if (r < 0)
        return r;
    if (!json_is_object(json) || !json_is_string(json_object_get(json, "type"))) {
        json_decref(json);
        return -EBADMSG;
    }
    *ret = json;
    return 0;
}

static void point_at_buffers(const char *at, const struct head *head, struct wire_frame *frame) {
    const char *data = at + head->head_bytes + head->json_bytes;
    frame->n_buffers = head->n_buffers;
    for (size_t i = 0; i < head->n_buffers; i++) {
        size_t bytes = get_u32(at + 8 + 4 * i);
        frame->buffers[i] = (struct wire_buffer){.data = data, .bytes = bytes};
        data += bytes;
    }
}

static int take_frame(struct wire_reader *reader, struct wire_frame *ret_frame) {
    if (reader->held.n == reader->taken)
        return 0;
    const char *at = reader->held.data + reader->taken;
    size_t left = reader->held.n - reader->taken;
    struct head head;
    int r = read_head(at, left, reader->max_bytes, &head);
    if (r <= 0)
        return r;
    if (left < head.frame_bytes)
        return 0;
    r = parse_json(at + head.head_bytes, head.json_bytes, &ret_frame->json);
    if (r < 0)
        return r;
    point_at_buffers(at, &head, ret_frame);
    reader->taken += head.frame_bytes;
    return 1;
}

int wire_reader_next(struct wire_reader *reader, struct wire_frame *ret_frame) {
    if (reader->failed < 0)
        return reader->failed;
    int r = take_frame(reader, ret_frame);
    if (r == -EBADMSG || r == -EMSGSIZE || r == -E2BIG)
        reader->failed = r;
    return r;
}

void wire_frame_fini(struct wire_frame *frame) {
    json_decref(frame->json);
    frame->json = NULL;
    frame->n_buffers = 0;
}
