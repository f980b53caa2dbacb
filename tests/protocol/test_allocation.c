/*
 * test_allocation.c - each operation with its first allocation failing, then
 * its second, and so on until it succeeds: it must say ENOMEM, and leave
 * nothing behind. jansson's allocations are among them.
 */
#include "fixture.h"

#include "protocol/connection.h"
#include "protocol/message.h"
#include "protocol/text.h"
#include "protocol/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The linker sends every call of malloc() here, and ours to the real one. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *memory);

static long left = -1; /* allocations until one fails; negative: none does */
static long live;      /* blocks that were not freed yet */
static bool failed;    /* whether one did */
static size_t largest; /* block that was asked for */

static bool fails(void) {
    if (left < 0 || left-- > 0)
        return false;
    failed = true;
    return true;
}

static void *counted(void *memory) {
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size) {
    return fails() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size) {
    if (fails())
        return NULL;
    largest = size > largest ? size : largest;
    return old == NULL ? counted(__real_malloc(size)) : __real_realloc(old, size);
}

void __wrap_free(void *memory) {
    live -= memory != NULL;
    __real_free(memory);
}

/* One operation: -ENOMEM or 0, and on 0 its result is freed again. */
typedef int operation(void);

static int parse_text(void) {
    static const char text[] =
        "{\"a\":[1,2.5,\"plain\",\"esc\\n\xFF\"],\"k\\u0000\":{\"b\":true},\"n\":12345678901234567890123}";
    json_t *json = NULL;
    int r = text_parse(text, sizeof text - 1, 8, &json);
    json_decref(json);
    return r;
}

static int text_string(void) {
    json_t *json = text_to_json("a\xFF", 2);
    int r = json != NULL ? 0 : -ENOMEM;
    json_decref(json);
    return r;
}

static int create_signer(void) {
    struct signer *signer = signer_create("k", 1);
    int r = signer != NULL ? 0 : -ENOMEM;
    signer_destroy(signer);
    return r;
}

static struct signer *no_key;
static json_t *content;

static int encode_message(void) {
    const struct frame frame = FRAME("x");
    const struct message_parts parts = {.identities = &frame,
                                        .n_identities = 1,
                                        .msg_type = "t",
                                        .session = "s",
                                        .content = content,
                                        .buffers = &frame,
                                        .n_buffers = 1};
    struct message_out out = {0};
    int r = message_encode(no_key, &parts, &out);
    message_out_fini(&out);
    return r;
}

static int encode_stream(void) {
    const struct message_parts parts = {.msg_type = "stream", .session = "s"};
    struct message_out out = {0};
    int r = message_encode_stream(no_key, &parts, "stdout", "\a\a\a\a\a\a\a\a\a\a\a\a\a\a\a\a", 16, &out);
    message_out_fini(&out);
    return r;
}

static int decode_message(void) {
    const struct frame frames[] = {FRAME("id"),
                                   FRAME("<IDS|MSG>"),
                                   FRAME(""),
                                   FRAME("{\"msg_id\":\"1\",\"msg_type\":\"t\"}"),
                                   FRAME("{}"),
                                   FRAME("{}"),
                                   FRAME("{\"code\":\"a\\nb\"}"),
                                   FRAME("buffer")};
    struct message message = {0};
    enum message_problem problem = message_decode(no_key, &message_default_caps, frames, 8, &message);
    message_fini(&message);
    return problem == MESSAGE_OK ? 0 : problem == MESSAGE_NO_MEMORY ? -ENOMEM : -EPROTO;
}

static int parse_connection(void) {
    static const char text[] = "{\"shell_port\":1,\"iopub_port\":2,\"stdin_port\":3,\"control_port\":4,\"hb_port\":5,"
                               "\"key\":\"k\",\"ip\":\"::1\"}";
    struct connection connection = {0};
    struct error error = {0};
    int r = connection_parse(text, sizeof text - 1, &connection, &error);
    connection_fini(&connection);
    assert_string_equal(error.text, r == 0 ? "" : "There is not enough memory to read the connection file.");
    return r;
}

static int encode_wire(void) {
    const struct wire_buffer buffer = {"buffer", 6};
    void *data = NULL;
    size_t bytes;
    int r = wire_encode(content, &buffer, 1, &data, &bytes);
    free(data);
    return r;
}

static int read_wire(void) {
    static const char stream[] = "\x15\0\0\0\1\0\0\0\2\0\0\0{\"type\":\"re\\u0061dy\"}xy";
    struct wire_reader *reader = wire_reader_create(1000);
    if (reader == NULL)
        return -ENOMEM;
    struct wire_frame frame = {0};
    int r = wire_reader_feed(reader, stream, sizeof stream - 1);
    if (r == -ENOMEM) { /* which passes: nothing was taken */
        left = -1;
        assert_int_equal(wire_reader_feed(reader, stream, sizeof stream - 1), 0);
        assert_int_equal(wire_reader_next(reader, &frame), 1);
    } else {
        r = wire_reader_next(reader, &frame);
        if (r == -ENOMEM) { /* the frame is still there */
            left = -1;
            assert_int_equal(wire_reader_next(reader, &frame), 1);
        }
    }
    wire_frame_fini(&frame);
    wire_reader_destroy(reader);
    return r == 1 ? 0 : r;
}

static const struct {
    const char *name;
    operation *run;
    int least; /* allocations, so that a row can't be empty */
} operations[] = {
    {"text_parse", parse_text, 10},
    {"text_to_json", text_string, 2},
    {"signer_create", create_signer, 1},
    {"message_encode", encode_message, 2},
    {"message_encode_stream", encode_stream, 2},
    {"message_decode", decode_message, 8},
    {"connection_parse", parse_connection, 10},
    {"wire_encode", encode_wire, 1},
    {"wire_reader", read_wire, 4},
};

static void fail_each_allocation(const char *name, operation *run, int least) {
    int n = 0;
    for (;; n++) {
        long before = live;
        failed = false;
        left = n;
        int r = run();
        left = -1;
        if (live != before)
            fail_msg("%s leaves %ld blocks behind when allocation %d fails", name, live - before, n);
        if (!failed) {
            assert_int_equal(r, 0);
            break;
        }
        if (r != -ENOMEM)
            fail_msg("%s says %d when allocation %d fails", name, r, n);
    }
    assert_in_range(n, least, 1000);
}

static void test_any_failed_allocation_is_enomem_and_leaks_nothing(void **state) {
    (void)state;
    json_set_alloc_funcs(malloc, free);
    no_key = signer_create("", 0);
    content = json_pack("{s:s,s:[i,f]}", "text", "some text\n", "list", 1, 2.5);
    assert_non_null(no_key);
    assert_non_null(content);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        fail_each_allocation(operations[i].name, operations[i].run, operations[i].least);
    json_decref(content);
    signer_destroy(no_key);
    assert_int_equal(live, 0);
}

/* Ten megabytes of frames, a part of the next one always waiting: what was taken makes room for what comes. */
static void test_reader_of_a_long_stream_keeps_its_memory_small(void **state) {
    static const char text[] = "\x10\0\0\0\0\0\0\0{\"type\":\"ready\"}";
    size_t bytes = sizeof text - 1;
    (void)state;
    struct wire_reader *reader = wire_reader_create(1000);
    largest = 0;
    assert_int_equal(wire_reader_feed(reader, text, 5), 0);
    for (size_t i = 0; i < 10000000 / bytes; i++) {
        struct wire_frame frame;
        assert_int_equal(wire_reader_feed(reader, text + 5, bytes - 5), 0);
        assert_int_equal(wire_reader_feed(reader, text, 5), 0);
        assert_int_equal(wire_reader_next(reader, &frame), 1);
        wire_frame_fini(&frame);
        assert_int_equal(wire_reader_next(reader, &frame), 0);
    }
    wire_reader_destroy(reader);
    assert_in_range(largest, 1, 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_of_a_long_stream_keeps_its_memory_small),
        cmocka_unit_test(test_any_failed_allocation_is_enomem_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
