/*
 * fuzz_text.c - JSON text.
 *
 * What jansson's own parser takes, ours takes, with the same value. What ours
 * takes it writes as text that both parsers read as the same value again.
 */
#include "fuzz.h"

#include "protocol/bytes.h"
#include "protocol/json_write.h"
#include "protocol/text.h"
#include "protocol/utf8.h"

#include <string.h>

enum { DEPTH = 64, JANSSON = JSON_DECODE_ANY | JSON_ALLOW_NUL };

static void check_round_trip(const json_t *json) {
    auto_bytes out = {0};
    INVARIANT(json_write(&out, json) == 0 && bytes_ok(&out));
    INVARIANT(utf8_valid((const unsigned char *)out.data, out.n) == out.n);
    json_auto_t *again = text_parse_json(out.data, out.n, DEPTH);
    INVARIANT(again != NULL && json_equal(json, again));
    json_auto_t *theirs = json_loadb(out.data, out.n, JANSSON, NULL);
    INVARIANT(theirs != NULL && json_equal(json, theirs));
}

static void check_plain_bytes(const char *text, size_t n) {
    size_t whole = text_whole_utf8(text, n);
    INVARIANT(whole <= n && n - whole <= 3);
    json_auto_t *string = text_to_json(text, n);
    const char *mended = json_string_value(string);
    size_t mended_bytes = json_string_length(string);
    INVARIANT(utf8_valid((const unsigned char *)mended, mended_bytes) == mended_bytes);
    if (utf8_valid((const unsigned char *)text, n) == n)
        INVARIANT(whole == n && mended_bytes == n && memcmp(mended, text, n) == 0);
    check_round_trip(string);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data;
    json_auto_t *ours = text_parse_json(text, size, DEPTH);
    json_auto_t *unlimited = text_parse_json(text, size, TEXT_DEPTH_LIMIT);
    json_auto_t *theirs = json_loadb(text, size, JANSSON, NULL);
    if (theirs != NULL && unlimited != NULL)
        INVARIANT(json_equal(unlimited, theirs));
    /* jansson goes twice as deep as ours, which takes as many bytes, and it overlooks a NUL behind a number. */
    INVARIANT(theirs == NULL || unlimited != NULL || size > TEXT_DEPTH_LIMIT || memchr(text, '\0', size) != NULL);
    if (ours != NULL) {
        INVARIANT(json_equal(ours, unlimited));
        check_round_trip(ours);
    }
    check_plain_bytes(text, size);
    return 0;
}
