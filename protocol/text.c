/*
 * text.c - replaces bytes that are not UTF-8; valid text is copied once.
 *
 * text_whole_utf8() only reads the last three bytes, because an incomplete
 * character has three at most.
 */

#include "text.h"

#include "bytes.h"
#include "utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void append_mended(struct bytes *out, const unsigned char *text, size_t n) {
    while (n > 0) {
        size_t valid = utf8_valid(text, n);
        bytes_append(out, text, valid);
        text += valid;
        n -= valid;
        if (n > 0) {
            size_t bad;
            (void)utf8_next(text, n, &bad);
            bytes_append_text(out, UTF8_REPLACEMENT);
            text += bad;
            n -= bad;
        }
    }
}

const char *text_in(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

json_t *text_to_json(const void *bytes, size_t n) {
    if (n == 0)
        return json_string_nocheck("");
    if (utf8_valid(bytes, n) == n)
        return json_stringn_nocheck(bytes, n);
    auto_bytes mended = {0};
    append_mended(&mended, bytes, n);
    return bytes_ok(&mended) ? json_stringn_nocheck(mended.data, mended.n) : NULL;
}

json_t *text_format(const char *format, ...) {
    char *text;
    va_list arguments;
    va_start(arguments, format);
    int n = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (n < 0)
        return NULL;
    json_t *json = text_to_json(text, (size_t)n);
    free(text);
    return json;
}

size_t text_whole_utf8(const void *bytes, size_t n) {
    const unsigned char *text = bytes;
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        size_t piece;
        enum utf8_piece kind = utf8_next(text + n - back, back, &piece);
        if (kind == UTF8_CUT && piece == back)
            return n - back;
    }
    return n;
}

/* For a value, for the table of an object or an array, and for a member, beside texts. */
enum { VALUE_BYTES = 64, TABLE_BYTES = 192, MEMBER_BYTES = 112 };

uint64_t text_memory(json_t *json) {
    uint64_t bytes = json ? VALUE_BYTES + json_string_length(json) : 0;
    const char *key;
    json_t *value;
    size_t i;
    if (json_is_object(json) || json_is_array(json))
        bytes += TABLE_BYTES;
    json_object_foreach(json, key, value) {
        bytes += MEMBER_BYTES + strlen(key) + text_memory(value);
    }
    json_array_foreach(json, i, value) {
        bytes += sizeof value + text_memory(value);
    }
    return bytes;
}
