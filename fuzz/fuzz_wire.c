/*
 * fuzz_wire.c - the worker's stream.
 *
 * The first byte is the length of the pieces in which the stream arrives; a
 * second reader gets it all at once. Both give the same frames and end the same
 * way. A frame is encoded and read again with the same result.
 */
#include "fuzz.h"

#include "protocol/wire.h"

#include <errno.h>
#include <string.h>

enum { CAP = 4096, MAX_RESULTS = 512 };

/* What a reader made of a stream. */
struct results {
    json_t *frames[MAX_RESULTS];
    size_t n;
    int end; /* what the last call said */
};

static void check_round_trip(const struct wire_frame *frame) {
    void *data;
    size_t bytes;
    struct wire_frame again;
    struct wire_reader *reader = wire_reader_create((size_t)CAP * 4); /* U+FFFD has three bytes */
    INVARIANT(wire_encode(frame->json, frame->buffers, frame->n_buffers, &data, &bytes) == 0);
    INVARIANT(wire_reader_feed(reader, data, bytes) == 0);
    INVARIANT(wire_reader_next(reader, &again) == 1);
    INVARIANT(json_equal(again.json, frame->json) && again.n_buffers == frame->n_buffers);
    for (size_t i = 0; i < again.n_buffers; i++) {
        INVARIANT(again.buffers[i].bytes == frame->buffers[i].bytes);
        INVARIANT(memcmp(again.buffers[i].data, frame->buffers[i].data, again.buffers[i].bytes) == 0);
    }
    wire_frame_fini(&again);
    INVARIANT(wire_reader_next(reader, &again) == 0);
    wire_reader_destroy(reader);
    free(data);
}

static void check_shape(const json_t *json) {
    enum wire_type type = WIRE_N_TYPES;
    const char *why = NULL;
    if (wire_check(json, &type, &why) == 0) {
        INVARIANT((unsigned)type < WIRE_N_TYPES);
        INVARIANT(type != WIRE_PUBLISH || json_is_object(json_object_get(json, "content")));
    } else {
        INVARIANT(why != NULL && type == WIRE_N_TYPES);
    }
}

static void take_all(struct wire_reader *reader, struct results *results) {
    struct wire_frame frame;
    while ((results->end = wire_reader_next(reader, &frame)) == 1) {
        check_round_trip(&frame);
        check_shape(frame.json);
        INVARIANT(results->n < MAX_RESULTS);
        results->frames[results->n++] = json_incref(frame.json);
        wire_frame_fini(&frame);
    }
    INVARIANT(results->end == 0 || results->end == -EBADMSG || results->end == -EMSGSIZE || results->end == -E2BIG);
}

static void read_stream(const uint8_t *data, size_t size, size_t piece, struct results *results) {
    struct wire_reader *reader = wire_reader_create(CAP);
    INVARIANT(reader != NULL);
    for (size_t at = 0; at < size && results->end == 0; at += piece) {
        INVARIANT(wire_reader_feed(reader, data + at, size - at < piece ? size - at : piece) == 0);
        take_all(reader, results);
    }
    if (results->end < 0)
        INVARIANT(wire_reader_feed(reader, "", 1) == results->end);
    wire_reader_destroy(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > CAP)
        return 0;
    struct results pieces = {.n = 0};
    struct results whole = {.n = 0};
    read_stream(data + 1, size - 1, (size_t)data[0] + 1, &pieces);
    read_stream(data + 1, size - 1, size, &whole);
    INVARIANT(pieces.n == whole.n && pieces.end == whole.end);
    for (size_t i = 0; i < whole.n; i++) {
        INVARIANT(json_equal(pieces.frames[i], whole.frames[i]));
        json_decref(pieces.frames[i]);
        json_decref(whole.frames[i]);
    }
    return 0;
}
