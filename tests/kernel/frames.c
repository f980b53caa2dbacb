#include "frames.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct published frames_take(const char *msg_type, json_t *content, json_t *metadata, size_t buffer_bytes) {
    static const char data[1 << 10];
    struct wire_frame frame = {.n_buffers = buffer_bytes > 0, .buffers = {{data, buffer_bytes}}};
    struct published message;
    assert_true(buffer_bytes <= sizeof data);
    frame.json = json_pack("{s:s, s:s, s:i, s:o, s:o*}", "type", "publish", "msg_type", msg_type, "seq", 1, "content",
                           content, "metadata", metadata);
    assert_non_null(frame.json);
    assert_int_equal(published_take(&frame, &message), 0);
    wire_frame_fini(&frame);
    return message;
}

json_t *frames_text(size_t bytes) {
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    memset(text, 'x', bytes);
    json_t *json = json_stringn(text, bytes);
    free(text);
    return json;
}

void frames_say(int fd, json_t *json) {
    void *data;
    size_t bytes;
    assert_non_null(json);
    assert_int_equal(wire_encode(json, NULL, 0, &data, &bytes), 0);
    assert_int_equal(write(fd, data, bytes), (ssize_t)bytes);
    free(data);
    json_decref(json);
}
