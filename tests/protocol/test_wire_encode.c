#include "fixture.h"

#include "protocol/text.h"
#include "protocol/wire.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void test_encode_without_buffers_is_golden(void **state) {
    (void)state;
    json_auto_t *json = json_pack("{s:s,s:i}", "type", "ack", "seq", 7);
    void *data;
    size_t bytes;
    assert_int_equal(wire_encode(json, NULL, 0, &data, &bytes), 0);
    static const char golden[] = "\x16\0\0\0\0\0\0\0{\"type\":\"ack\",\"seq\":7}";
    assert_int_equal(bytes, sizeof golden - 1);
    assert_memory_equal(data, golden, bytes);
    free(data);
}

static void test_encode_with_buffers_is_golden(void **state) {
    (void)state;
    char big[0x102];
    memset(big, 'b', sizeof big);
    const struct wire_buffer buffers[] = {{"\0x", 2}, {NULL, 0}, {big, sizeof big}};
    json_auto_t *json = json_object();
    void *data;
    size_t bytes;
    assert_int_equal(wire_encode(json, buffers, 3, &data, &bytes), 0);
    static const char golden[] = "\2\0\0\0\3\0\0\0\2\0\0\0\0\0\0\0\2\1\0\0{}\0x";
    assert_int_equal(bytes, sizeof golden - 1 + sizeof big);
    assert_memory_equal(data, golden, sizeof golden - 1);
    assert_memory_equal((char *)data + sizeof golden - 1, big, sizeof big);
    free(data);
}

static void test_encode_over_a_limit_is_refused(void **state) {
    (void)state;
    struct wire_buffer buffers[WIRE_MAX_BUFFERS + 1] = {{NULL, 0}};
    json_auto_t *json = json_object();
    void *data = NULL;
    size_t bytes;
    assert_int_equal(wire_encode(json, buffers, WIRE_MAX_BUFFERS + 1, &data, &bytes), -EINVAL);
    assert_int_equal(wire_encode(json, buffers, WIRE_MAX_BUFFERS, &data, &bytes), 0);
    free(data);
    data = NULL;
    buffers[0].bytes = (size_t)UINT32_MAX + 1; /* refused before it is looked at */
    assert_int_equal(wire_encode(json, buffers, 1, &data, &bytes), -EINVAL);
    json_t *nested = json_object();
    for (int i = 0; i < TEXT_DEPTH_LIMIT; i++)
        nested = json_pack("{s:o}", "a", nested);
    assert_int_equal(wire_encode(nested, NULL, 0, &data, &bytes), -EINVAL);
    json_decref(nested);
    assert_null(data);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode_without_buffers_is_golden),
        cmocka_unit_test(test_encode_with_buffers_is_golden),
        cmocka_unit_test(test_encode_over_a_limit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
