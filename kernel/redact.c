#include "redact.h"

#include "kernel/secrets.h"
#include "protocol/text.h"

/* One pattern over the text. Returns how many pieces it took out. */
static size_t apply(const struct patterns *patterns, size_t which, int64_t deadline_us, const char *text, size_t bytes,
                    struct bytes *out) {
    struct pattern_pass pass = {.text = text, .bytes = bytes, .deadline_us = deadline_us};
    size_t n = 0;
    size_t written = 0;
    size_t start, end;
    int r;
    while ((r = patterns_next(patterns, which, &pass, &start, &end)) > 0) {
        bytes_append(out, text + written, start - written);
        secrets_mark(out, "configured pattern");
        written = end;
        n++;
    }
    if (r < 0) {
        size_t known = pass.at > written ? pass.at : written;
        bytes_append(out, text + written, known - written);
        secrets_mark(out, "the rest, as a configured pattern takes too long on it");
        return n + 1;
    }
    bytes_append(out, text + written, bytes - written);
    return n;
}

size_t redact_text(const struct patterns *patterns, const char *text, size_t bytes, struct bytes *out) {
    auto_bytes now = {0};
    size_t n = secrets_remove(text, bytes, &now);
    int64_t deadline_us = pattern_deadline();
    for (size_t i = 0; i < patterns_n(patterns); i++) {
        struct bytes next = {0};
        n += apply(patterns, i, deadline_us, now.data, now.n, &next);
        next.failed = next.failed || now.failed;
        bytes_fini(&now);
        now = next;
    }
    bytes_append(out, now.data, now.n);
    out->failed = out->failed || now.failed;
    return n;
}

static json_t *redact_string(const struct patterns *patterns, const json_t *json, size_t *count) {
    auto_bytes out = {0};
    *count += redact_text(patterns, json_string_value(json), json_string_length(json), &out);
    return bytes_ok(&out) ? text_to_json(out.data, out.n) : NULL;
}

/* A name and its value belong together, also where they are a key and a text: {"password": "..."}. */
static json_t *redact_member(const struct patterns *patterns, const char *name, const json_t *value, size_t *count) {
    auto_bytes mark = {0};
    if (!json_is_string(value) || !secrets_is_named(name, json_string_value(value), json_string_length(value)))
        return redact_json(patterns, value, count);
    secrets_mark(&mark, "credential");
    ++*count;
    return bytes_ok(&mark) ? json_stringn(mark.data, mark.n) : NULL;
}

static json_t *redact_object(const struct patterns *patterns, const json_t *json, size_t *count) {
    json_t *copy = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value) {
        auto_bytes key = {0};
        *count += redact_text(patterns, name, strlen(name), &key);
        bytes_append(&key, "", 1);
        if (!bytes_ok(&key) || json_object_set_new(copy, key.data, redact_member(patterns, name, value, count)) < 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *redact_array(const struct patterns *patterns, const json_t *json, size_t *count) {
    json_t *copy = json_array();
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)json, i, value) {
        if (json_array_append_new(copy, redact_json(patterns, value, count)) < 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

json_t *redact_json(const struct patterns *patterns, const json_t *json, size_t *count) {
    if (json_is_string(json))
        return redact_string(patterns, json, count);
    if (json_is_object(json))
        return redact_object(patterns, json, count);
    if (json_is_array(json))
        return redact_array(patterns, json, count);
    return json_copy((json_t *)json);
}
