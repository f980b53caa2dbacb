/*
 * redact.c - takes out first what looks like a secret, then the operator's patterns, in each view of the text.
 *
 * A pattern is first applied to the views that leave out most, and last to the
 * text itself; what it takes out in one view is missing in the next. A match in a
 * view is mapped back to bytes of the text. Where a pattern runs out of time, the
 * rest of the text is taken out, because it may have a secret.
 */

#include "redact.h"

#include "kernel/records/secrets.h"
#include "kernel/records/secrets_view.h"
#include "protocol/text.h"

/* Appends the matches of a pattern in a view, as positions in the text. */
static void find_hits(const struct patterns *patterns, size_t which, const struct secrets_view *view,
                      struct pattern_pass *pass, size_t bytes, struct bytes *hits) {
    struct secrets_hit hit = {.kind = "configured pattern"};
    int r;
    while ((r = patterns_next(patterns, which, pass, &hit.start, &hit.end)) > 0) {
        secrets_view_range(view, &hit.start, &hit.end);
        bytes_append(hits, &hit, sizeof hit);
    }
    if (r == 0 || pass->at >= pass->bytes)
        return;
    hit = (struct secrets_hit){pass->at, pass->bytes, "the rest, as a configured pattern takes too long on it"};
    secrets_view_range(view, &hit.start, &hit.end);
    hit.end = bytes;
    bytes_append(hits, &hit, sizeof hit);
}

/*
 * Applies one pattern to one view, or to the text where the view is not
 * different. Returns how many pieces were taken out.
 */
static size_t take_out(const struct patterns *patterns, size_t which, unsigned flags, int64_t deadline_us,
                       struct bytes *now) {
    auto_secrets_view view = {0};
    auto_bytes hits = {0};
    struct bytes next = {0};
    int r = flags < SECRETS_VIEW_N ? secrets_view_make(now->data, now->n, flags, &view) : 1;
    struct pattern_pass pass = {
        .text = view.n ? view.text : now->data, .bytes = view.n ? view.n : now->n, .deadline_us = deadline_us};
    if (r == 1)
        find_hits(patterns, which, &view, &pass, now->n, &hits);
    now->failed = now->failed || r < 0 || hits.failed;
    if (hits.n == 0)
        return 0;
    size_t n =
        secrets_replace(now->data, now->n, (struct secrets_hit *)hits.data, hits.n / sizeof(struct secrets_hit), &next);
    next.failed = next.failed || now->failed;
    bytes_fini(now);
    *now = next;
    return n;
}

size_t redact_text(const struct patterns *patterns, const char *text, size_t bytes, struct bytes *out) {
    auto_bytes now = {0};
    size_t n = secrets_remove(text, bytes, &now);
    for (unsigned view = 0; patterns_n(patterns) > 0 && view <= SECRETS_VIEW_N; view++) {
        int64_t deadline_us = pattern_deadline();
        for (size_t i = 0; i < patterns_n(patterns) && now.n > 0; i++)
            n += take_out(patterns, i, view < SECRETS_VIEW_N ? SECRETS_VIEW_N - 1 - view : view, deadline_us, &now);
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

/* A key may say that its value is a secret: {"password": "..."}. */
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
