/*
 * json_read.c - text_parse(): a recursive-descent parser for JSON.
 *
 * Each read_*() function starts at the first byte of a value or token, ends after
 * its last byte, and returns NULL or false where the text is not that. Depth and
 * values are counted before anything is allocated for them, so hostile text is
 * refused before it uses memory. Flags of the reader distinguish failures (no
 * memory, too many values); without a flag the text is not JSON.
 *
 * A string of plain ASCII is copied to jansson in one piece. Other strings are
 * built in a scratch run that is reused.
 */

#include "text.h"

#include "bytes.h"
#include "utf8.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct reader {
    const unsigned char *at;
    const unsigned char *end;
    size_t depth_left;
    size_t values_left;   /* text_parse_capped() */
    struct bytes scratch; /* of the string or number being read */
    bool no_memory;
    bool too_many;
};

static json_t *read_value(struct reader *reader);

static int peek(const struct reader *reader) {
    return reader->at < reader->end ? *reader->at : -1;
}

static bool take(struct reader *reader, char byte) {
    if (peek(reader) != byte)
        return false;
    reader->at++;
    return true;
}

/* Counts n values; false where that is too many. */
static bool count(struct reader *reader, size_t n) {
    if (n > reader->values_left) {
        reader->too_many = true;
        return false;
    }
    reader->values_left -= n;
    return true;
}

static void skip_space(struct reader *reader) {
    for (int c = peek(reader); c == ' ' || c == '\n' || c == '\r' || c == '\t'; c = peek(reader))
        reader->at++;
}

/* Checks a value from jansson: NULL can only mean that there is no memory. */
static json_t *made(struct reader *reader, json_t *json) {
    if (!json)
        reader->no_memory = true;
    return json;
}

/* The code unit of an escape, \u and four digits, at text, or -1. */
static int32_t hex_escape(const unsigned char *text, const unsigned char *end) {
    if (end - text < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    int32_t unit = 0;
    for (int i = 2; i < 6; i++) {
        int digit = text_hex_value((char)text[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static bool read_unicode_escape(struct reader *reader) {
    int32_t unit = hex_escape(reader->at, reader->end);
    if (unit < 0)
        return false;
    reader->at += 6;
    uint32_t code = (uint32_t)unit;
    if (code >= 0xD800 && code <= 0xDFFF) {
        int32_t low = code <= 0xDBFF ? hex_escape(reader->at, reader->end) : -1;
        if (low >= 0xDC00 && low <= 0xDFFF) {
            reader->at += 6;
            code = 0x10000 + ((code - 0xD800) << 10) + ((uint32_t)low - 0xDC00);
        } else {
            code = UTF8_REPLACEMENT_CODE;
        }
    }
    char encoded[4];
    bytes_append(&reader->scratch, encoded, utf8_encode(code, encoded));
    return true;
}

static bool read_escape(struct reader *reader) {
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (reader->end - reader->at < 2)
        return false;
    int name = reader->at[1];
    if (name == 'u')
        return read_unicode_escape(reader);
    const char *found = name != '\0' ? strchr(names, name) : NULL;
    if (!found)
        return false;
    bytes_append(&reader->scratch, &values[found - names], 1);
    reader->at += 2;
    return true;
}

/* Reads the next characters beyond ASCII, or one broken piece, which is replaced. */
static void read_multibyte(struct reader *reader) {
    size_t left = (size_t)(reader->end - reader->at);
    size_t bytes = utf8_multibyte(reader->at, left);
    if (bytes > 0) {
        bytes_append(&reader->scratch, reader->at, bytes);
    } else {
        (void)utf8_next(reader->at, left, &bytes);
        bytes_append_text(&reader->scratch, UTF8_REPLACEMENT);
    }
    reader->at += bytes;
}

/* Reads the rest of a string into scratch, and skips the closing quote. */
static bool read_text(struct reader *reader) {
    reader->scratch.n = 0;
    for (;;) {
        size_t plain = utf8_plain(reader->at, (size_t)(reader->end - reader->at));
        bytes_append(&reader->scratch, reader->at, plain);
        reader->at += plain;
        int c = peek(reader);
        if (c == '"') {
            reader->at++;
            reader->no_memory |= !bytes_ok(&reader->scratch);
            return bytes_ok(&reader->scratch);
        }
        if (c == '\\') {
            if (!read_escape(reader))
                return false;
        } else if (c >= 0x80) {
            read_multibyte(reader);
        } else {
            return false;
        }
    }
}

static json_t *read_string(struct reader *reader) {
    const unsigned char *text = ++reader->at;
    size_t plain = utf8_plain(text, (size_t)(reader->end - text));
    if (text + plain < reader->end && text[plain] == '"') {
        reader->at = text + plain + 1;
        return made(reader, json_stringn_nocheck((const char *)text, plain));
    }
    if (!read_text(reader))
        return NULL;
    const char *data = reader->scratch.n > 0 ? reader->scratch.data : "";
    return made(reader, json_stringn_nocheck(data, reader->scratch.n));
}

/* A key as a malloc'ed C string. */
static char *read_key(struct reader *reader) {
    if (!take(reader, '"') || !read_text(reader))
        return NULL;
    auto_bytes key = {0};
    const char *text = reader->scratch.data;
    size_t left = reader->scratch.n;
    while (left > 0) {
        const char *nul = memchr(text, '\0', left);
        size_t run = nul != NULL ? (size_t)(nul - text) : left;
        bytes_append(&key, text, run);
        if (nul) {
            bytes_append_text(&key, UTF8_REPLACEMENT);
            run++;
        }
        text += run;
        left -= run;
    }
    bytes_append(&key, "", 1);
    if (!bytes_ok(&key)) {
        reader->no_memory = true;
        return NULL;
    }
    char *ret = key.data;
    key.data = NULL;
    return ret;
}

/* Skips digits; returns whether there was one. */
static bool skip_digits(struct reader *reader) {
    const unsigned char *from = reader->at;
    while (peek(reader) >= '0' && peek(reader) <= '9')
        reader->at++;
    return reader->at > from;
}

/* Skips a number of JSON's grammar. */
static bool skip_number(struct reader *reader, bool *ret_integer) {
    *ret_integer = true;
    (void)take(reader, '-');
    if (!take(reader, '0') && !skip_digits(reader))
        return false;
    if (take(reader, '.')) {
        *ret_integer = false;
        if (!skip_digits(reader))
            return false;
    }
    if (take(reader, 'e') || take(reader, 'E')) {
        *ret_integer = false;
        if (!take(reader, '+'))
            (void)take(reader, '-');
        return skip_digits(reader);
    }
    return true;
}

static json_t *read_number(struct reader *reader) {
    const unsigned char *text = reader->at;
    bool integer;
    if (!skip_number(reader, &integer))
        return NULL;
    reader->scratch.n = 0;
    bytes_append(&reader->scratch, text, (size_t)(reader->at - text));
    bytes_append(&reader->scratch, "", 1);
    if (!bytes_ok(&reader->scratch)) {
        reader->no_memory = true;
        return NULL;
    }
    if (integer) {
        errno = 0;
        long long value = strtoll(reader->scratch.data, NULL, 10);
        if (errno == 0)
            return made(reader, json_integer(value));
    }
    double real = strtod(reader->scratch.data, NULL);
    return made(reader, json_real(isinf(real) ? copysign(DBL_MAX, real) : real));
}

static bool read_member(struct reader *reader, json_t *object) {
    char *key = count(reader, 1) ? read_key(reader) : NULL;
    if (!key)
        return false;
    skip_space(reader);
    json_t *value = take(reader, ':') ? read_value(reader) : NULL;
    bool ok = value != NULL;
    if (ok && json_object_set_new_nocheck(object, key, value) < 0) {
        reader->no_memory = true;
        ok = false;
    }
    free(key);
    return ok;
}

static bool read_element(struct reader *reader, json_t *array) {
    json_t *value = read_value(reader);
    if (!value)
        return false;
    if (json_array_append_new(array, value) < 0) {
        reader->no_memory = true;
        return false;
    }
    return true;
}

/* Reads an array or an object. */
static json_t *read_container(struct reader *reader, bool object) {
    char close = object ? '}' : ']';
    reader->at++;
    if (reader->depth_left == 0 || !count(reader, TEXT_CONTAINER_COUNT - 1))
        return NULL;
    reader->depth_left--;
    json_auto_t *container = made(reader, object ? json_object() : json_array());
    if (!container)
        return NULL;
    skip_space(reader);
    bool more = !take(reader, close);
    while (more) {
        skip_space(reader);
        if (!(object ? read_member(reader, container) : read_element(reader, container)))
            return NULL;
        skip_space(reader);
        more = take(reader, ',');
        if (!more && !take(reader, close))
            return NULL;
    }
    reader->depth_left++;
    return json_incref(container);
}

static json_t *read_word(struct reader *reader, const char *word, json_t *value) {
    size_t bytes = strlen(word);
    if ((size_t)(reader->end - reader->at) < bytes || memcmp(reader->at, word, bytes) != 0)
        return NULL;
    reader->at += bytes;
    return value;
}

static json_t *read_value(struct reader *reader) {
    skip_space(reader);
    if (!count(reader, 1))
        return NULL;
    switch (peek(reader)) {
    case '{':
        return read_container(reader, true);
    case '[':
        return read_container(reader, false);
    case '"':
        return read_string(reader);
    case 't':
        return read_word(reader, "true", json_true());
    case 'f':
        return read_word(reader, "false", json_false());
    case 'n':
        return read_word(reader, "null", json_null());
    default:
        return read_number(reader);
    }
}

int text_parse_capped(const char *text, size_t bytes, size_t max_depth, size_t max_values, json_t **ret) {
    const unsigned char *begin = bytes > 0 ? (const unsigned char *)text : (const unsigned char *)"";
    struct reader reader = {
        .at = begin,
        .end = begin + bytes,
        .depth_left = max_depth < TEXT_DEPTH_LIMIT ? max_depth : TEXT_DEPTH_LIMIT,
        .values_left = max_values,
    };
    json_auto_t *value = read_value(&reader);
    bytes_fini(&reader.scratch);
    if (!value)
        return reader.no_memory ? -ENOMEM : reader.too_many ? -E2BIG : -EBADMSG;
    skip_space(&reader);
    if (reader.at != reader.end)
        return -EBADMSG;
    *ret = json_incref(value);
    return 0;
}

int text_parse(const char *text, size_t bytes, size_t max_depth, json_t **ret) {
    return text_parse_capped(text, bytes, max_depth, SIZE_MAX, ret);
}

json_t *text_parse_json(const char *text, size_t bytes, size_t max_depth) {
    json_t *value;
    return text_parse(text, bytes, max_depth, &value) == 0 ? value : NULL;
}
