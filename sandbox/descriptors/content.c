/*
 * content.c - pieces in one block of memory, each behind its length.
 *
 * A piece costs more of the room than its bytes, so that many small ones are
 * bounded, too.
 */

#include "content.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE_BYTES = 64 }; /* what a piece costs beside its bytes, and more */

int content_add(struct content *content, const void *data, uint32_t bytes, uint64_t *room) {
    if ((uint64_t)bytes + PIECE_BYTES > *room)
        return -E2BIG;
    char *grown = realloc(content->data, content->bytes + sizeof bytes + bytes);
    if (!grown)
        return -ENOMEM;
    memcpy(grown + content->bytes, &bytes, sizeof bytes);
    memcpy(grown + content->bytes + sizeof bytes, data, bytes);
    content->data = grown;
    content->bytes += sizeof bytes + bytes;
    *room -= (uint64_t)bytes + PIECE_BYTES;
    return 0;
}

const char *content_next(const struct content *content, size_t *at, uint32_t *ret_bytes) {
    if (*at >= content->bytes)
        return NULL;
    const char *piece = content->data + *at + sizeof *ret_bytes;
    memcpy(ret_bytes, content->data + *at, sizeof *ret_bytes);
    *at += sizeof *ret_bytes + *ret_bytes;
    return piece;
}
