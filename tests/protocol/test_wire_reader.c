#include "fixture.h"

#include "protocol/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CAP ((size_t)1 << 20)
#define HELLO "\x10\0\0\0\0\0\0\0{\"type\":\"ready\"}"

static struct wire_reader *make_reader(size_t max_bytes) {
    struct wire_reader *reader = wire_reader_create(max_bytes);
    assert_non_null(reader);
    return reader;
}

/* A frame of type "t" with the number i and two buffers that hold it, malloc'ed. */
static void *numbered(int i, size_t buffer_bytes, size_t *ret_bytes) {
    json_auto_t *json = json_pack("{s:s,s:i}", "type", "t", "i", i);
    char *filled = malloc(buffer_bytes + 1);
    void *data;
    assert_non_null(filled);
    memset(filled, i & 0xFF, buffer_bytes + 1);
    const struct wire_buffer buffers[] = {{filled, buffer_bytes}, {filled, 1}};
    assert_int_equal(wire_encode(json, buffers, 2, &data, ret_bytes), 0);
    free(filled);
    return data;
}

static void assert_numbered(const struct wire_frame *frame, int i, size_t buffer_bytes) {
    assert_int_equal(json_integer_value(json_object_get(frame->json, "i")), i);
    assert_int_equal(frame->n_buffers, 2);
    assert_int_equal(frame->buffers[0].bytes, buffer_bytes);
    assert_int_equal(frame->buffers[1].bytes, 1);
    const unsigned char *bytes = frame->buffers[0].data;
    for (size_t k = 0; k < buffer_bytes; k++)
        if (bytes[k] != (i & 0xFF))
            fail_msg("byte %zu of frame %d", k, i);
    assert_int_equal(*(const unsigned char *)frame->buffers[1].data, i & 0xFF);
}

/* Frames of all sizes, fed in pieces of one size: each comes whole and in order. */
static void read_in_pieces(size_t piece) {
    enum { N = 60 };
    struct wire_reader *reader = make_reader(CAP);
    char *stream = NULL;
    size_t stream_bytes = 0;
    for (int i = 0; i < N; i++) {
        size_t bytes;
        void *frame = numbered(i, (size_t)(i * i * 7), &bytes);
        stream = realloc(stream, stream_bytes + bytes);
        assert_non_null(stream);
        memcpy(stream + stream_bytes, frame, bytes);
        stream_bytes += bytes;
        free(frame);
    }
    int seen = 0;
    for (size_t at = 0; at < stream_bytes; at += piece) {
        size_t n = stream_bytes - at < piece ? stream_bytes - at : piece;
        assert_int_equal(wire_reader_feed(reader, stream + at, n), 0);
        struct wire_frame frame;
        while (wire_reader_next(reader, &frame) == 1) {
            assert_numbered(&frame, seen, (size_t)(seen * seen * 7));
            wire_frame_fini(&frame);
            seen++;
        }
    }
    assert_int_equal(seen, N);
    free(stream);
    wire_reader_destroy(reader);
}

static void test_next_frames_in_pieces_come_whole(void **state) {
    static const size_t pieces[] = {1, 2, 3, 7, 8, 64, 1000, 65536, SIZE_MAX / 2};
    (void)state;
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        read_in_pieces(pieces[i]);
}

static void test_next_without_a_whole_frame_returns_zero(void **state) {
    (void)state;
    struct wire_reader *reader = make_reader(CAP);
    struct wire_frame frame;
    assert_int_equal(wire_reader_next(reader, &frame), 0);
    for (size_t i = 0; i < sizeof HELLO - 2; i++) {
        assert_int_equal(wire_reader_feed(reader, &HELLO[i], 1), 0);
        assert_int_equal(wire_reader_next(reader, &frame), 0);
    }
    assert_int_equal(wire_reader_feed(reader, &HELLO[sizeof HELLO - 2], 1), 0);
    assert_int_equal(wire_reader_next(reader, &frame), 1);
    assert_string_equal(json_string_value(json_object_get(frame.json, "type")), "ready");
    assert_int_equal(frame.n_buffers, 0);
    wire_frame_fini(&frame);
    assert_int_equal(wire_reader_next(reader, &frame), 0);
    wire_reader_destroy(reader);
}

/* The beginning of a stream that is refused, as soon as it is known: nothing need follow. */
static void test_next_bad_stream_refused_for_good(void **state) {
    static const struct {
        const char *name;
        const char *data;
        size_t bytes;
        int error;
    } rows[] = {
#define ROW(name, data, error) {name, data, sizeof(data) - 1, error}
        ROW("no JSON", "\0\0\0\0\0\0\0\0", -EBADMSG),
        ROW("257 buffers", "\2\0\0\0\1\1\0\0", -EBADMSG),
        ROW("4 G of buffers", "\2\0\0\0\xFF\xFF\xFF\xFF", -EBADMSG),
        ROW("JSON over the cap", "\0\0\x10\0\0\0\0\0", -EMSGSIZE),
        ROW("JSON of 4 GiB", "\xFF\xFF\xFF\xFF\0\0\0\0", -EMSGSIZE),
        ROW("buffer over the cap", "\2\0\0\0\1\0\0\0\0\0\x10\0", -EMSGSIZE),
        ROW("first of two buffers over the cap", "\2\0\0\0\2\0\0\0\xFF\xFF\xFF\xFF", -EMSGSIZE),
        ROW("sum over the cap", "\2\0\0\0\2\0\0\0\0\0\x08\0\0\0\x08\0", -EMSGSIZE),
        ROW("not JSON", "\2\0\0\0\0\0\0\0{]", -EBADMSG),
        ROW("two values", "\4\0\0\0\0\0\0\0{}{}", -EBADMSG),
        ROW("a list", "\2\0\0\0\0\0\0\0[]", -EBADMSG),
        ROW("no type", "\2\0\0\0\0\0\0\0{}", -EBADMSG),
        ROW("type is a number", "\x0A\0\0\0\0\0\0\0{\"type\":1}", -EBADMSG),
#undef ROW
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct wire_reader *reader = make_reader(CAP);
        struct wire_frame frame;
        assert_int_equal(wire_reader_feed(reader, HELLO, sizeof HELLO - 1), 0);
        assert_int_equal(wire_reader_feed(reader, rows[i].data, rows[i].bytes), 0);
        assert_int_equal(wire_reader_next(reader, &frame), 1);
        wire_frame_fini(&frame);
        int r = wire_reader_next(reader, &frame);
        if (r != rows[i].error)
            fail_msg("%s: %d", rows[i].name, r);
        assert_int_equal(wire_reader_next(reader, &frame), rows[i].error);
        assert_int_equal(wire_reader_feed(reader, HELLO, sizeof HELLO - 1), rows[i].error);
        assert_int_equal(wire_reader_fill(reader, -1), rows[i].error);
        assert_int_equal(wire_reader_next(reader, &frame), rows[i].error);
        wire_reader_destroy(reader);
    }
}

static void test_next_deep_json_refused(void **state) {
    (void)state;
    char frame_bytes[8 + 2000] = {0};
    memset(frame_bytes + 8, '[', 2000);
    frame_bytes[0] = (char)(2000 & 0xFF);
    frame_bytes[1] = 2000 >> 8;
    struct wire_reader *reader = make_reader(CAP);
    struct wire_frame frame;
    assert_int_equal(wire_reader_feed(reader, frame_bytes, sizeof frame_bytes), 0);
    assert_int_equal(wire_reader_next(reader, &frame), -EBADMSG);
    wire_reader_destroy(reader);
}

/* Three bytes of text each, and hundreds in memory: what fits into the cap of bytes need not be read. */
static void test_next_frame_of_too_many_values_refused_for_good(void **state) {
    size_t n = WIRE_MAX_VALUES / 4, at = 8;
    size_t json_bytes = strlen("{\"type\":\"t\",\"v\":[") + 3 * n + strlen("0]}");
    char *data = calloc(1, at + json_bytes);
    struct wire_reader *reader = make_reader(16 * CAP);
    struct wire_frame frame;
    (void)state;
    assert_non_null(data);
    for (size_t i = 0; i < 4; i++)
        data[i] = (char)(json_bytes >> 8 * i & 0xFF);
    at += (size_t)sprintf(data + at, "{\"type\":\"t\",\"v\":[");
    for (size_t i = 0; i < n; i++, at += 3)
        memcpy(data + at, "{},", 3);
    memcpy(data + at, "0]}", 3);
    assert_int_equal(wire_reader_feed(reader, data, at + 3), 0);
    assert_int_equal(wire_reader_next(reader, &frame), -E2BIG);
    assert_int_equal(wire_reader_next(reader, &frame), -E2BIG);
    wire_reader_destroy(reader);
    free(data);
}

static void test_next_frame_at_the_cap_passes_and_over_it_is_refused(void **state) {
    (void)state;
    size_t bytes;
    void *data = numbered(1, 5000, &bytes);
    struct wire_frame frame;
    struct wire_reader *reader = make_reader(bytes);
    assert_int_equal(wire_reader_feed(reader, data, bytes), 0);
    assert_int_equal(wire_reader_next(reader, &frame), 1);
    wire_frame_fini(&frame);
    wire_reader_destroy(reader);
    reader = make_reader(bytes - 1);
    assert_int_equal(wire_reader_feed(reader, data, 16), 0);
    assert_int_equal(wire_reader_next(reader, &frame), -EMSGSIZE);
    wire_reader_destroy(reader);
    free(data);
}

static void make_socketpair(int fds[2]) {
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
}

static void test_fill_reads_all_that_the_socket_has_and_its_end(void **state) {
    (void)state;
    int fds[2];
    make_socketpair(fds);
    struct wire_reader *reader = make_reader(CAP);
    struct wire_frame frame;
    assert_int_equal(wire_reader_fill(reader, fds[0]), -EAGAIN);
    assert_int_equal(write(fds[1], HELLO HELLO, 2 * (sizeof HELLO - 1)), 2 * (sizeof HELLO - 1));
    assert_int_equal(wire_reader_fill(reader, fds[0]), 2 * (sizeof HELLO - 1));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wire_reader_next(reader, &frame), 1);
        wire_frame_fini(&frame);
    }
    assert_int_equal(wire_reader_fill(reader, fds[0]), -EAGAIN);
    assert_int_equal(close(fds[1]), 0);
    assert_int_equal(wire_reader_fill(reader, fds[0]), 0);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(wire_reader_fill(reader, fds[0]), -EBADF);
    wire_reader_destroy(reader);
}

/* Who fills without taking is stopped at a frame's worth, and goes on after taking. */
static void test_fill_without_next_is_bounded(void **state) {
    (void)state;
    int fds[2];
    make_socketpair(fds);
    size_t cap = 100;
    struct wire_reader *reader = make_reader(cap);
    struct wire_frame frame;
    size_t written = 0;
    ssize_t r = 1;
    while (r > 0) {
        assert_int_equal(write(fds[1], HELLO, sizeof HELLO - 1), sizeof HELLO - 1);
        r = wire_reader_fill(reader, fds[0]);
        written += r > 0 ? sizeof HELLO - 1 : 0;
    }
    assert_int_equal(r, -ENOBUFS);
    assert_in_range(written, cap, 2 * cap);
    for (size_t i = 0; i < written / (sizeof HELLO - 1); i++) {
        assert_int_equal(wire_reader_next(reader, &frame), 1);
        wire_frame_fini(&frame);
    }
    assert_int_equal(wire_reader_next(reader, &frame), 0);
    assert_int_equal(wire_reader_fill(reader, fds[0]), sizeof HELLO - 1);
    assert_int_equal(wire_reader_next(reader, &frame), 1);
    wire_frame_fini(&frame);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    wire_reader_destroy(reader);
}

/* A frame much larger than what one read brings, written and read in turn. */
static void test_fill_large_frame_comes_whole(void **state) {
    (void)state;
    int fds[2];
    make_socketpair(fds);
    size_t bytes;
    char *data = numbered(9, 20000000, &bytes);
    struct wire_reader *reader = make_reader((size_t)64 << 20);
    struct wire_frame frame;
    size_t sent = 0;
    int r = 0;
    while (r == 0) {
        if (sent < bytes) {
            ssize_t n = write(fds[1], data + sent, bytes - sent);
            assert_true(n > 0 || errno == EAGAIN);
            sent += n > 0 ? (size_t)n : 0;
        }
        assert_true(wire_reader_fill(reader, fds[0]) > 0);
        r = wire_reader_next(reader, &frame);
    }
    assert_int_equal(r, 1);
    assert_numbered(&frame, 9, 20000000);
    wire_frame_fini(&frame);
    assert_int_equal(wire_reader_fill(reader, fds[0]), -EAGAIN);
    free(data);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
    wire_reader_destroy(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_frames_in_pieces_come_whole),
        cmocka_unit_test(test_next_without_a_whole_frame_returns_zero),
        cmocka_unit_test(test_next_bad_stream_refused_for_good),
        cmocka_unit_test(test_next_deep_json_refused),
        cmocka_unit_test(test_next_frame_of_too_many_values_refused_for_good),
        cmocka_unit_test(test_next_frame_at_the_cap_passes_and_over_it_is_refused),
        cmocka_unit_test(test_fill_reads_all_that_the_socket_has_and_its_end),
        cmocka_unit_test(test_fill_without_next_is_bounded),
        cmocka_unit_test(test_fill_large_frame_comes_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
