/*
 * fuzz_secrets.c - what looks like a secret, in any bytes.
 *
 * What is between the marks is the text as it was, in its order. Once the
 * secrets are out, none is found any more. The time that it takes grows with
 * the text and no faster: libFuzzer's time-out is the check.
 */
#include "fuzz.h"

#include "kernel/records/secrets.h"

#include <string.h>

/* Whether mark stands at at; its end goes to ret_end. */
static int is_mark(const struct bytes *text, size_t at, size_t *ret_end) {
    static const char begin[] = "[redacted: ";
    if (text->n - at < sizeof begin - 1 || memcmp(text->data + at, begin, sizeof begin - 1) != 0)
        return 0;
    const char *end = memchr(text->data + at, ']', text->n - at);
    if (end == NULL)
        return 0;
    *ret_end = (size_t)(end - text->data) + 1;
    return 1;
}

/* What the marks leave of the text is found in it, in this order. */
static void check_rest(const char *text, size_t n, const struct bytes *out) {
    size_t at = 0;
    for (size_t i = 0; i < out->n;) {
        size_t end;
        if (is_mark(out, i, &end)) {
            i = end;
            continue;
        }
        const char *found = at < n ? memchr(text + at, out->data[i], n - at) : NULL;
        INVARIANT(found != NULL);
        at = (size_t)(found - text) + 1;
        i++;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    auto_bytes out = {0};
    auto_bytes again = {0};
    size_t n = secrets_remove((const char *)data, size, &out);
    INVARIANT(bytes_ok(&out));
    if (n == 0)
        INVARIANT(out.n == size && (size == 0 || memcmp(out.data, data, size) == 0));
    check_rest((const char *)data, size, &out);
    INVARIANT(secrets_remove(out.data, out.n, &again) == 0);
    INVARIANT(again.n == out.n);
    return 0;
}
