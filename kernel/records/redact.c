/*
 * redact.c - takes out first the values of variables, then what looks like a secret, then what the operator's patterns
 * match, each in each view of the text.
 *
 * A pattern is first applied to the views that leave out most, and last to the
 * text itself; what it takes out in one view is missing in the next. A match in a
 * view is mapped back to bytes of the text. Where a pattern runs out of time, the
 * rest of the text is taken out, because it may have a secret.
 *
 * Before all that, whatever stands encoded in the text is decoded and searched the same
 * way, encoded pieces in it too. A piece in which anything is found is taken out whole.
 */

#include "redact.h"

#include "kernel/records/encoded.h"
#include "kernel/records/secrets.h"
#include "kernel/records/secrets_view.h"
#include "protocol/text.h"

#include <string.h>

enum {
    DEPTH_MAX = 2,     /* of what is encoded in what is encoded */
    PIECE_BYTES = 8,   /* the shortest that looks like a secret, as "pwd=1234"; values of variables may be shorter */
    NUMBER_BYTES = 40, /* of one in JSON */
};
static const char encoded_kind[] = "encoded secret";

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

/* What is looked for in a view of a text. */
struct search {
    const struct redaction *redaction;
    size_t pattern; /* one of the operator's; SIZE_MAX for the values of variables */
    struct work_time *time;
};

/* Puts marks in place of what was found. Returns how many. */
static size_t replace(struct bytes *now, struct bytes *hits) {
    struct bytes next = {0};
    now->failed = now->failed || hits->failed;
    if (hits->n == 0)
        return 0;
    size_t n = secrets_replace(now->data, now->n, (struct secrets_hit *)hits->data,
                               hits->n / sizeof(struct secrets_hit), &next);
    next.failed = next.failed || now->failed;
    bytes_fini(now);
    *now = next;
    return n;
}

/* Finds the values of variables in a view, as positions in the text. */
static void find_values(const struct variables *variables, const struct secrets_view *view,
                        const struct pattern_pass *pass, struct bytes *hits) {
    variables_find(variables, pass->text, pass->bytes, pass->time, hits);
    struct secrets_hit *all = (struct secrets_hit *)hits->data;
    for (size_t i = 0; i < hits->n / sizeof *all; i++)
        secrets_view_range(view, &all[i].start, &all[i].end);
}

/*
 * Searches one view, or the text where the view is not different. Returns how many
 * pieces were taken out.
 */
static size_t take_out(const struct search *search, unsigned flags, struct bytes *now) {
    auto_secrets_view view = {0};
    auto_bytes hits = {0};
    int r = flags < SECRETS_VIEW_N ? secrets_view_make(now->data, now->n, flags, &view) : 1;
    struct pattern_pass pass = {
        .text = view.n ? view.text : now->data, .bytes = view.n ? view.n : now->n, .time = search->time};
    if (r == 1 && search->pattern == SIZE_MAX)
        find_values(search->redaction->variables, &view, &pass, &hits);
    else if (r == 1)
        find_hits(search->redaction->patterns, search->pattern, &view, &pass, now->n, &hits);
    now->failed = now->failed || r < 0;
    return replace(now, &hits);
}

/* The views of a text in turn, first those that leave out most, and last the text itself. */
static unsigned view_of(unsigned turn) {
    return turn < SECRETS_VIEW_N ? SECRETS_VIEW_N - 1 - turn : turn;
}

static size_t take_out_values(const struct redaction *redaction, struct bytes *now) {
    size_t n = 0;
    for (unsigned turn = 0; redaction->variables && redaction->variables->n > 0 && turn <= SECRETS_VIEW_N; turn++) {
        struct work_time time = pattern_time();
        n += take_out(&(struct search){redaction, SIZE_MAX, &time}, view_of(turn), now);
    }
    return n;
}

static size_t take_out_patterns(const struct redaction *redaction, struct bytes *now) {
    const size_t n_patterns = patterns_n(redaction->patterns);
    size_t n = 0;
    for (unsigned turn = 0; n_patterns > 0 && turn <= SECRETS_VIEW_N; turn++) {
        struct work_time time = pattern_time();
        struct search search = {redaction, 0, &time};
        for (; search.pattern < n_patterns && now->n > 0; search.pattern++)
            n += take_out(&search, view_of(turn), now);
    }
    return n;
}

static size_t take_out_all(const struct redaction *redaction, int depth, struct bytes *text, struct bytes *out);

/* Appends the pieces that are not in what is left of them. */
static void find_changed(const struct encoded *encoded, const struct bytes *left, struct bytes *hits) {
    const struct encoded_piece *pieces = encoded_pieces(encoded);
    size_t at = 0;
    for (size_t i = 0; i < encoded_n(encoded); i++) {
        const size_t bytes = pieces[i].bytes + strlen(encoded_mark);
        if (left->n - at >= bytes && memcmp(left->data + at, encoded->text.data + pieces[i].at, bytes) == 0) {
            at += bytes;
            continue;
        }
        bytes_append(hits, &(struct secrets_hit){pieces[i].start, pieces[i].end, encoded_kind},
                     sizeof(struct secrets_hit));
        const char *next =
            at < left->n ? memmem(left->data + at, left->n - at, encoded_mark, strlen(encoded_mark)) : NULL;
        at = next ? (size_t)(next - left->data) + strlen(encoded_mark) : left->n;
    }
}

/* Appends the pieces of a text that have a secret, decoded in one way. False where there is no memory. */
static bool find_encoded(const struct redaction *redaction, int depth, const struct bytes *now, enum encoded_way way,
                         struct bytes *hits) {
    auto_encoded encoded = {0};
    auto_bytes text = {0}, left = {0};
    const size_t shortest = redaction->variables ? redaction->variables->shortest : PIECE_BYTES;
    encoded_find(now->data, now->n, way, shortest > 0 && shortest < PIECE_BYTES ? shortest : PIECE_BYTES, &encoded);
    bytes_append(&text, encoded.text.data, encoded.text.n);
    if (encoded.text.n > 0 && take_out_all(redaction, depth + 1, &text, &left) > 0)
        find_changed(&encoded, &left, hits);
    return bytes_ok(&encoded.text) && bytes_ok(&encoded.pieces) && bytes_ok(&text) && bytes_ok(&left);
}

static size_t take_out_encoded(const struct redaction *redaction, int depth, struct bytes *now) {
    size_t n = 0;
    if (depth == DEPTH_MAX || now->n <= VARIABLES_VALUE_BYTES_MIN)
        return 0;
    for (enum encoded_way way = 0; way < ENCODED_WAYS; way++) {
        auto_bytes hits = {0};
        now->failed |= !find_encoded(redaction, depth, now, way, &hits);
        n += replace(now, &hits);
    }
    return n;
}

/* Takes out of text what is no matter of the lines of a cell. */
static size_t take_out_all(const struct redaction *redaction, int depth, struct bytes *text, struct bytes *out) {
    auto_bytes now = {0};
    size_t n = take_out_encoded(redaction, depth, text);
    n += take_out_values(redaction, text);
    n += secrets_remove(text->data ? text->data : "", text->n, &now);
    n += take_out_patterns(redaction, &now);
    bytes_append(out, now.data, now.n);
    out->failed = out->failed || now.failed || text->failed;
    return n;
}

size_t redact_text(const struct redaction *redaction, const char *text, size_t bytes, struct bytes *out) {
    auto_bytes now = {0};
    bytes_append(&now, text, bytes);
    return take_out_all(redaction, 0, &now, out);
}

size_t redact_code(const struct redaction *redaction, const char *code, size_t bytes, struct bytes *out) {
    auto_bytes now = {0}, hits = {0};
    bytes_append(&now, code, bytes);
    variables_find_in_code(code, bytes, &hits);
    size_t n = replace(&now, &hits);
    return n + take_out_all(redaction, 0, &now, out);
}

static json_t *mark_only(const char *kind, size_t *count) {
    auto_bytes mark = {0};
    secrets_mark(&mark, kind);
    ++*count;
    return bytes_ok(&mark) ? json_stringn(mark.data, mark.n) : NULL;
}

/*
 * A file's content with a secret in it is left out as a whole: without the secret it would be
 * a different file. is_bytes: it is none of a text's, so what looks like a secret in the base64 is chance.
 */
static json_t *redact_string(const struct redaction *redaction, const json_t *json, bool is_bytes, size_t *count) {
    auto_bytes out = {0}, hits = {0};
    const struct bytes text = {.data = (char *)json_string_value(json), .n = json_string_length(json)};
    if (encoded_is_base64(text.data, text.n)) {
        if (!find_encoded(redaction, 0, &text, ENCODED_BASE64_WHOLE, &hits))
            return NULL;
        if (hits.n > 0)
            return mark_only(encoded_kind, count);
        if (is_bytes)
            return json_copy((json_t *)json);
    }
    *count += redact_text(redaction, json_string_value(json), json_string_length(json), &out);
    return bytes_ok(&out) ? text_to_json(out.data, out.n) : NULL;
}

/* Of a type that comes in base64. */
static bool is_binary(const char *type) {
    static const char *const begins[] = {"image/", "audio/", "video/", "application/pdf", "application/octet-stream"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
        if (strncmp(type, begins[i], strlen(begins[i])) == 0)
            return strstr(type, "+xml") == NULL;
    return false;
}

/* A key may say that its value is a secret, {"password": "..."}, or of which type it is. */
static json_t *redact_member(const struct redaction *redaction, const char *name, const json_t *value, size_t *count) {
    if (!json_is_string(value))
        return redact_json(redaction, value, count);
    if (secrets_is_named(name, json_string_value(value), json_string_length(value)))
        return mark_only("credential", count);
    return redact_string(redaction, value, is_binary(name), count);
}

static json_t *redact_object(const struct redaction *redaction, const json_t *json, size_t *count) {
    json_t *copy = json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)json, name, value) {
        auto_bytes key = {0};
        *count += redact_text(redaction, name, strlen(name), &key);
        bytes_append(&key, "", 1);
        if (!bytes_ok(&key) || json_object_set_new(copy, key.data, redact_member(redaction, name, value, count)) < 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

static json_t *redact_array(const struct redaction *redaction, const json_t *json, size_t *count) {
    json_t *copy = json_array();
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)json, i, value) {
        if (json_array_append_new(copy, redact_json(redaction, value, count)) < 0) {
            json_decref(copy);
            return NULL;
        }
    }
    return copy;
}

/* The value of a variable, or what a pattern matches, may be a number. */
static json_t *redact_number(const struct redaction *redaction, const json_t *json, size_t *count) {
    char text[NUMBER_BYTES];
    auto_bytes now = {0};
    const size_t bytes = json_dumpb(json, text, sizeof text, JSON_ENCODE_ANY);
    bytes_append(&now, text, bytes < sizeof text ? bytes : sizeof text);
    const size_t n = take_out_values(redaction, &now) + take_out_patterns(redaction, &now);
    *count += n;
    if (!bytes_ok(&now))
        return NULL;
    return n > 0 ? json_stringn(now.data, now.n) : json_copy((json_t *)json);
}

json_t *redact_json(const struct redaction *redaction, const json_t *json, size_t *count) {
    if (json_is_string(json))
        return redact_string(redaction, json, false, count);
    if (json_is_number(json))
        return redact_number(redaction, json, count);
    if (json_is_object(json))
        return redact_object(redaction, json, count);
    if (json_is_array(json))
        return redact_array(redaction, json, count);
    return json_copy((json_t *)json);
}
