/*
 * json_write.c - writes values by recursion, and strings in runs.
 *
 * utf8_plain() finds bytes that need no escape, eight at a time, and they are
 * copied at once; only the bytes between two such runs are handled one by one.
 * The recursion is bounded by TEXT_DEPTH_LIMIT, as in the parser. Allocations are
 * not checked here: the caller calls bytes_ok() once.
 */

#include "json_write.h"

#include "bytes.h"
#include "text.h"
#include "utf8.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int write_value(struct bytes *out, const json_t *value, size_t depth_left);

/*
 * byte is a control character, a quote or a backslash. Terminal colours have
 * many of them, so printf() would be too slow.
 */
static void write_escape(struct bytes *out, unsigned char byte) {
    static const char names[0x60] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r', ['"'] = '"', ['\\'] = '\\'};
    static const char digits[] = "0123456789abcdef";
    if (names[byte] != '\0') {
        bytes_append(out, (const char[]){'\\', names[byte]}, 2);
        return;
    }
    bytes_append(out, (const char[]){'\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 0xF]}, 6);
}

/* Appends the characters beyond ASCII at the beginning of text, or one U+FFFD; returns how many bytes were read. */
static size_t write_multibyte(struct bytes *out, const unsigned char *text, size_t n) {
    size_t run = utf8_multibyte(text, n);
    if (run > 0) {
        bytes_append(out, text, run);
        return run;
    }
    size_t bad;
    (void)utf8_next(text, n, &bad);
    bytes_append_text(out, UTF8_REPLACEMENT);
    return bad;
}

void json_write_string(struct bytes *out, const void *text, size_t n) {
    const unsigned char *at = text;
    bytes_append(out, "\"", 1);
    while (n > 0) {
        size_t done = utf8_plain(at, n);
        bytes_append(out, at, done);
        if (done < n && at[done] >= 0x80) {
            done += write_multibyte(out, at + done, n - done);
        } else if (done < n) {
            write_escape(out, at[done]);
            done++;
        }
        at += done;
        n -= done;
    }
    bytes_append(out, "\"", 1);
}

/* The shortest form that reads back as the same number, and reads back as a real. */
static void write_real(struct bytes *out, double real) {
    char text[32];
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*g", precision, real);
        if (strtod(text, NULL) == real)
            break;
    }
    bytes_append_text(out, text);
    if (strpbrk(text, ".e") == NULL)
        bytes_append_text(out, ".0");
}

static void write_integer(struct bytes *out, json_int_t integer) {
    char text[24];
    (void)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, integer);
    bytes_append_text(out, text);
}

static int write_object(struct bytes *out, const json_t *object, size_t depth_left) {
    const char *separator = "{";
    json_t *mutable = (json_t *)(uintptr_t)object; /* jansson's iterators take no const */
    for (void *iter = json_object_iter(mutable); iter != NULL; iter = json_object_iter_next(mutable, iter)) {
        const char *key = json_object_iter_key(iter);
        bytes_append(out, separator, 1);
        json_write_string(out, key, strlen(key));
        bytes_append(out, ":", 1);
        int r = write_value(out, json_object_iter_value(iter), depth_left);
        if (r < 0)
            return r;
        separator = ",";
    }
    bytes_append_text(out, *separator == '{' ? "{}" : "}");
    return 0;
}

static int write_array(struct bytes *out, const json_t *array, size_t depth_left) {
    bytes_append(out, "[", 1);
    for (size_t i = 0; i < json_array_size(array); i++) {
        bytes_append(out, ",", i > 0 ? 1 : 0);
        int r = write_value(out, json_array_get(array, i), depth_left);
        if (r < 0)
            return r;
    }
    bytes_append(out, "]", 1);
    return 0;
}

static int write_value(struct bytes *out, const json_t *value, size_t depth_left) {
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return depth_left > 0 ? write_object(out, value, depth_left - 1) : -EINVAL;
    case JSON_ARRAY:
        return depth_left > 0 ? write_array(out, value, depth_left - 1) : -EINVAL;
    case JSON_STRING:
        json_write_string(out, json_string_value(value), json_string_length(value));
        return 0;
    case JSON_INTEGER:
        write_integer(out, json_integer_value(value));
        return 0;
    case JSON_REAL:
        write_real(out, json_real_value(value));
        return 0;
    case JSON_TRUE:
        bytes_append_text(out, "true");
        return 0;
    case JSON_FALSE:
        bytes_append_text(out, "false");
        return 0;
    case JSON_NULL:
        bytes_append_text(out, "null");
        return 0;
    }
    return -EINVAL;
}

int json_write(struct bytes *out, const json_t *value) {
    return write_value(out, value, TEXT_DEPTH_LIMIT);
}
