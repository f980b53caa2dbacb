/*
 * fuzz_secrets.c - what looks like a secret, in any bytes.
 *
 * What is between the marks is the text as it was, in its order. Once the
 * secrets are out, none is found any more. What stands encoded in the text is found in its
 * order, and says no more than the text has bytes. The time that it takes grows with
 * the text and no faster: libFuzzer's time-out is the check.
 */
#include "fuzz.h"

#include "kernel/records/encoded.h"
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

/*
 * The pieces come in the order of the text once for each character of a group that they may begin with. Two of base64
 * may have a character in common, in which one ends and the next begins.
 */
static void check_encoded(const char *text, size_t n, enum encoded_way way) {
    auto_encoded encoded = {0};
    unsigned phases = way == ENCODED_BASE64 ? 4 : way == ENCODED_HEX ? 2 : 1;
    encoded_find(text, n, way, 1 + n % 8, &encoded);
    INVARIANT(bytes_ok(&encoded.text) && bytes_ok(&encoded.pieces));
    size_t end = 0, at = 0;
    for (size_t i = 0; i < encoded_n(&encoded); i++) {
        const struct encoded_piece *piece = &encoded_pieces(&encoded)[i];
        phases -= end > piece->start + 1;
        INVARIANT(phases > 0 && piece->start < piece->end && piece->end <= n);
        INVARIANT(at <= piece->at && piece->bytes > 0 && piece->at + piece->bytes <= encoded.text.n);
        INVARIANT(piece->bytes <= piece->end - piece->start);
        end = piece->end;
        at = piece->at + piece->bytes;
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
    for (int way = 0; way <= ENCODED_BASE64_WHOLE; way++)
        check_encoded((const char *)data, size, (enum encoded_way)way);
    return 0;
}
