/*
 * bytes.c - grows a run by at least half of its capacity, so that n bytes take
 * O(n) copies, however small the pieces are.
 *
 * A run never has more than SIZE_MAX / 2 bytes, so no sum here overflows.
 */

#include "bytes.h"

#include <stdint.h>
#include <stdlib.h>

enum { SMALLEST = 64 };

bool bytes_reserve(struct bytes *bytes, size_t more) {
    if (bytes->failed)
        return false;
    if (more <= bytes->capacity - bytes->n)
        return true;
    if (more > SIZE_MAX / 2 - bytes->n) {
        bytes->failed = true;
        return false;
    }
    size_t needed = bytes->n + more;
    size_t grown = bytes->capacity + bytes->capacity / 2;
    size_t capacity = grown > needed ? grown : needed;
    capacity = capacity > SMALLEST ? capacity : SMALLEST;
    char *data = realloc(bytes->data, capacity);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->capacity = capacity;
    return true;
}

void bytes_fini(struct bytes *bytes) {
    free(bytes->data);
    *bytes = (struct bytes){0};
}
