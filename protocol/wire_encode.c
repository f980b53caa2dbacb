/* wire_encode.c - writes a frame into one growing allocation; the JSON's length is filled in at the end. */

#include "bytes.h"
#include "json_write.h"
#include "wire.h"

#include <errno.h>

static void put_u32(char *at, size_t value) {
    for (int i = 0; i < 4; i++)
        at[i] = (char)(value >> 8 * i & 0xFF);
}

int wire_encode(const json_t *json, const struct wire_buffer *buffers, size_t n_buffers, void **ret_data,
                size_t *ret_bytes) {
    if (n_buffers > WIRE_MAX_BUFFERS)
        return -EINVAL;
    char head[(2 + WIRE_MAX_BUFFERS) * 4];
    size_t head_bytes = (2 + n_buffers) * 4;
    put_u32(head + 4, n_buffers);
    for (size_t i = 0; i < n_buffers; i++) {
        if (buffers[i].bytes > UINT32_MAX)
            return -EINVAL;
        put_u32(head + 8 + 4 * i, buffers[i].bytes);
    }
    auto_bytes frame = {0};
    bytes_append(&frame, head, head_bytes);
    int r = json_write(&frame, json);
    size_t json_bytes = frame.n - head_bytes;
    for (size_t i = 0; i < n_buffers && r == 0; i++)
        bytes_append(&frame, buffers[i].data, buffers[i].bytes);
    if (r < 0 || !bytes_ok(&frame))
        return r < 0 ? r : -ENOMEM;
    if (json_bytes > UINT32_MAX)
        return -EINVAL;
    put_u32(frame.data, json_bytes);
    *ret_data = frame.data;
    *ret_bytes = frame.n;
    frame.data = NULL;
    return 0;
}
