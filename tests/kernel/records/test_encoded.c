/* What stands encoded in what is stored: each secret, in each encoding, at each place. */
#include "kernel/records/encoded.h"
#include "kernel/records/redact.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define A36 "aB3dE6gH9jK2mN5pQ8sTABCDEFGH01234567"

/* In two pieces, so that no scanner takes this file for a leak. */
static const char *const secrets[] = {
    "gh"
    "p_" A36,
    "password = 'hunter2'",
    "postgresql://me:hunter2@db:5432/x",
    "-----BEGIN PRIVATE KEY-----\nMIIEow\n-----END PRIVATE KEY-----\n",
    "mauve-Giraffe 17=", /* of a variable */
    "tiny42",            /* the same */
    "CASE-4711",         /* of a pattern */
};
enum { N_SECRETS = sizeof secrets / sizeof secrets[0] };

static struct variables variables;
static struct redaction redaction = {.variables = &variables};

static int begin(void **state) {
    (void)state;
    json_t *texts = json_pack("[s]", "CASE-[0-9]+");
    struct patterns *patterns;
    int r = patterns_create(texts, &patterns);
    redaction.patterns = patterns;
    json_decref(texts);
    return r < 0 || sodium_init() < 0 ||
           variables_add(&variables, VARIABLE_TOLD, 1, "V", secrets[4], strlen(secrets[4])) < 0 ||
           variables_add(&variables, VARIABLE_TOLD, 1, "T", secrets[5], strlen(secrets[5])) < 0;
}

static int end(void **state) {
    (void)state;
    variables_fini(&variables);
    patterns_destroy((struct patterns *)redaction.patterns);
    return 0;
}

static void put_base64(const char *text, size_t n, int variant, struct bytes *out) {
    size_t size = sodium_base64_encoded_len(n, variant);
    char *base64 = malloc(size);
    assert_non_null(base64);
    sodium_bin2base64(base64, size, (const unsigned char *)text, n, variant);
    bytes_append_text(out, base64);
    free(base64);
}

static void as_base64(const char *text, size_t n, struct bytes *out) {
    put_base64(text, n, sodium_base64_VARIANT_ORIGINAL, out);
}

static void as_url_base64(const char *text, size_t n, struct bytes *out) {
    put_base64(text, n, sodium_base64_VARIANT_URLSAFE_NO_PADDING, out);
}

/* In lines of width characters, with an end after each. */
static void in_lines(const struct bytes *line, size_t width, const char *line_end, struct bytes *out) {
    for (size_t at = 0; at < line->n; at += width) {
        bytes_append(out, line->data + at, line->n - at < width ? line->n - at : width);
        bytes_append_text(out, line_end);
    }
}

static void as_mime_base64(const char *text, size_t n, struct bytes *out) {
    struct bytes line = {0};
    as_base64(text, n, &line);
    in_lines(&line, 12, "\n", out);
    bytes_fini(&line);
}

static void as_base64_in_repr(const char *text, size_t n, struct bytes *out) {
    struct bytes line = {0};
    as_base64(text, n, &line);
    bytes_append_text(out, "b'");
    in_lines(&line, 76, "\\n", out);
    bytes_append_text(out, "'");
    bytes_fini(&line);
}

static void as_base64_in_json(const char *text, size_t n, struct bytes *out) {
    struct bytes line = {0};
    as_base64(text, n, &line);
    for (size_t i = 0; i < line.n; i++) {
        bytes_append(out, "\\", line.data[i] == '/');
        bytes_append(out, line.data + i, 1);
    }
    bytes_fini(&line);
}

static void put_each(const char *format, const char *text, size_t n, const char *between, struct bytes *out) {
    for (size_t i = 0; i < n; i++) {
        char byte[16];
        snprintf(byte, sizeof byte, format, (unsigned char)text[i]);
        bytes_append_text(out, i > 0 ? between : "");
        bytes_append_text(out, byte);
    }
}

static void as_hex(const char *text, size_t n, struct bytes *out) {
    put_each("%02x", text, n, "", out);
}

static void as_capital_hex(const char *text, size_t n, struct bytes *out) {
    put_each("%02X", text, n, ":", out);
}

static void as_hex_with_blanks(const char *text, size_t n, struct bytes *out) {
    put_each("%02x", text, n, " ", out);
}

static void as_hex_numbers(const char *text, size_t n, struct bytes *out) {
    put_each("0x%02x", text, n, ", ", out);
}

static void as_percent(const char *text, size_t n, struct bytes *out) {
    put_each("%%%02X", text, n, "", out);
}

static void as_quoted_printable(const char *text, size_t n, struct bytes *out) {
    put_each("=%02X", text, n, "", out);
}

/* As encoders do it: what need not be escaped is not. */
static void as_little_quoted(const char *text, size_t n, struct bytes *out) {
    for (size_t i = 0; i < n; i++) {
        bool plain = text[i] != '=' && text[i] != '\n' && (unsigned char)text[i] < 0x80;
        put_each(plain ? "%c" : "=%02X", text + i, 1, "", out);
        bytes_append_text(out, i % 7 == 6 ? "=\n" : "");
    }
}

static void as_base64_twice(const char *text, size_t n, struct bytes *out) {
    struct bytes once = {0};
    as_base64(text, n, &once);
    as_base64(once.data, once.n, out);
    bytes_fini(&once);
}

static void as_hex_of_base64(const char *text, size_t n, struct bytes *out) {
    struct bytes once = {0};
    as_base64(text, n, &once);
    as_hex(once.data, once.n, out);
    bytes_fini(&once);
}

/* Two bytes a character, as some programs write files. */
static void as_base64_of_utf16(const char *text, size_t n, struct bytes *out) {
    struct bytes wide = {0};
    for (size_t i = 0; i < n; i++)
        bytes_append(&wide, (const char[]){text[i], '\0'}, 2);
    as_base64(wide.data, wide.n, out);
    bytes_fini(&wide);
}

static void (*const encodings[])(const char *text, size_t n, struct bytes *out) = {
    as_base64,       as_url_base64,      as_mime_base64,     as_base64_in_repr, as_base64_in_json,   as_hex,
    as_capital_hex,  as_hex_with_blanks, as_hex_numbers,     as_percent,        as_quoted_printable, as_little_quoted,
    as_base64_twice, as_hex_of_base64,   as_base64_of_utf16,
};
enum { N_ENCODINGS = sizeof encodings / sizeof encodings[0] };

/* What stands around it, in the file that is encoded and in the text that has the result. */
static const struct {
    const char *before, *behind;
} around[] = {
    {"", ""},
    {"a ", ""},
    {"ab\n", "\n"},
    {"key: ", " # of no one\n"},
    {"\x89PNG\r\n\x1a\n\0\xff\xfe\x80", "\xff\xd9"},
    {"data:image/png;base64,", "\" alt=\"x\">"},
    {"value=", "&next=1"},
    {"'", "'"},
};
enum { N_AROUND = sizeof around / sizeof around[0] };

static bool has(const struct bytes *text, const char *piece, size_t n) {
    return text->n >= n && memmem(text->data, text->n, piece, n);
}

/* Half of what the encoding made of the secret may not stay. */
static void expect_gone(size_t secret, size_t encoding, size_t inside, size_t outside) {
    struct bytes plain = {0}, encoded = {0}, text = {0}, left = {0};
    bytes_append_text(&plain, around[inside].before);
    bytes_append_text(&plain, secrets[secret]);
    bytes_append_text(&plain, around[inside].behind);
    encodings[encoding](plain.data, plain.n, &encoded);
    bytes_append_text(&text, around[outside].before);
    bytes_append(&text, encoded.data, encoded.n);
    bytes_append_text(&text, around[outside].behind);
    const size_t n = redact_text(&redaction, text.data, text.n, &left);
    const size_t half = encoded.n / 2;
    if (n == 0 || has(&left, encoded.data, half) || has(&left, encoded.data + half, encoded.n - half))
        fail_msg("secret %zu, encoding %zu, inside %zu, outside %zu: %.*s -> %.*s", secret, encoding, inside, outside,
                 (int)text.n, text.data, (int)left.n, left.data);
    bytes_fini(&plain);
    bytes_fini(&encoded);
    bytes_fini(&text);
    bytes_fini(&left);
}

static void test_redact_secret_in_any_encoding_at_any_place_is_taken_out(void **state) {
    (void)state;
    for (size_t secret = 0; secret < N_SECRETS; secret++)
        for (size_t encoding = 0; encoding < N_ENCODINGS; encoding++)
            for (size_t inside = 0; inside < N_AROUND; inside++)
                for (size_t outside = 0; outside < N_AROUND; outside++)
                    expect_gone(secret, encoding, inside, outside);
}

/* Wherever a JSON value may have it: keys, values, lists, numbers, data of any type. */
static void test_redact_secret_encoded_in_json_is_taken_out(void **state) {
    static const char *const names[] = {"data",          "image/png",        "application/octet-stream",
                                        "text/html",     "application/json", "application/vnd.some",
                                        "image/svg+xml", "traceback",        "metadata"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (size_t secret = 0; secret < N_SECRETS; secret++) {
            struct bytes file = {0}, base64 = {0};
            size_t count = 0;
            bytes_append(&file, "\x89PNG\r\n\x1a\n\0\0", 10);
            bytes_append_text(&file, secrets[secret]);
            as_base64(file.data, file.n, &base64);
            json_t *value = json_stringn(base64.data, base64.n);
            json_t *json = json_pack("{s:O, s:[O], s:{s#:i}}", names[i], value, "list", value, "keys", base64.data,
                                     (int)base64.n, 1);
            json_t *out = redact_json(&redaction, json, &count);
            char *text = json_dumps(out, 0);
            base64.data[base64.n / 2] = '\0';
            assert_null(strstr(text, base64.data));
            assert_int_equal(count, 3);
            assert_string_equal(json_string_value(json_object_get(out, names[i])), "[redacted: encoded secret]");
            free(text);
            json_decref(out);
            json_decref(json);
            json_decref(value);
            bytes_fini(&file);
            bytes_fini(&base64);
        }
    }
}

static void test_redact_number_that_is_a_value_is_taken_out(void **state) {
    size_t count = 0;
    (void)state;
    assert_int_equal(variables_add(&variables, VARIABLE_TOLD, 1, "PIN", "48151623", 8), 0);
    json_t *json = json_pack("[i, i, f]", 48151623, 42, 0.5);
    json_t *wanted = json_pack("[s, i, f]", "[redacted: variable PIN]", 42, 0.5);
    json_t *out = redact_json(&redaction, json, &count);
    assert_true(json_equal(out, wanted) && count == 1);
    json_decref(out);
    json_decref(wanted);
    json_decref(json);
}

/* Of pictures and of words nothing is taken out, though they can be decoded. */
static void test_redact_leaves_what_has_no_secret_when_decoded(void **state) {
    unsigned char noise[30000];
    (void)state;
    for (size_t encoding = 0; encoding < N_ENCODINGS; encoding++) {
        struct bytes text = {0}, left = {0};
        const unsigned char seed[randombytes_SEEDBYTES] = {(unsigned char)encoding};
        randombytes_buf_deterministic(noise, sizeof noise, seed);
        encodings[encoding]((const char *)noise, sizeof noise, &text);
        encodings[encoding]("The quick brown fox jumps over the lazy dog.", 44, &text);
        assert_int_equal(redact_text(&redaction, text.data, text.n, &left), 0);
        assert_int_equal(left.n, text.n);
        assert_memory_equal(left.data, text.data, text.n);
        bytes_fini(&text);
        bytes_fini(&left);
    }
}

/* Only the piece goes: what stands beside it stays. */
static void test_redact_leaves_what_is_beside_an_encoded_secret(void **state) {
    struct bytes text = {0}, left = {0};
    (void)state;
    bytes_append_text(&text, "c29tZSBvdGhlciB0ZXh0IA== (");
    as_base64(secrets[0], strlen(secrets[0]), &text);
    bytes_append_text(&text, ") Zm91ciB3b3JkcyBvZiBpdA==");
    assert_int_equal(redact_text(&redaction, text.data, text.n, &left), 1);
    bytes_append(&left, "", 1);
    assert_string_equal(left.data, "c29tZSBvdGhlciB0ZXh0IA== ([redacted: encoded secret]) Zm91ciB3b3JkcyBvZiBpdA==");
    bytes_fini(&text);
    bytes_fini(&left);
}

/* Base64 as it is defined. Returns how many bytes it is. */
static size_t decode(const char *text, size_t n, unsigned char *ret_bytes) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < 6 * n / 8; i++)
        ret_bytes[i] = 0;
    for (size_t bit = 0; bit < 6 * n / 8 * 8; bit++) {
        const size_t digit = (size_t)(strchr(digits, text[bit / 6]) - digits);
        ret_bytes[bit / 8] |= (unsigned char)((digit >> (5 - bit % 6) & 1) << (7 - bit % 8));
    }
    return 6 * n / 8;
}

/* How many bytes of text begin at at, as UTF-8 is written, an incomplete character at their end among them. */
static size_t text_bytes(const unsigned char *bytes, size_t n, size_t at) {
    static const char controls[] = "\b\t\n\f\r\x1b";
    const size_t begin = at;
    for (size_t more = 0; at < n; at++) {
        const unsigned char byte = bytes[at];
        const bool follows = (byte & 0xc0) == 0x80;
        if (more > 0 && !follows)
            break;
        if (more == 0 && (follows || byte == 0x7f || byte == 0xc0 || byte == 0xc1 || byte > 0xf4 ||
                          (byte > 0 && byte < ' ' && !strchr(controls, byte))))
            break;
        more = more > 0 ? more - 1 : byte < 0x80 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3;
    }
    return at - begin;
}

static void expect_pieces(const struct encoded *encoded, size_t *piece, const unsigned char *bytes, size_t n,
                          size_t phase, size_t least) {
    for (size_t at = 0, length; at<n; at += length> 0 ? length : 1) {
        size_t seen = 0;
        length = text_bytes(bytes, n, at);
        for (size_t i = 0; i < length; i++)
            seen += bytes[at + i] >= ' ';
        if (length == 0 || seen < least)
            continue;
        assert_true(*piece < encoded_n(encoded));
        const struct encoded_piece *found = &encoded_pieces(encoded)[(*piece)++];
        assert_int_equal(found->bytes, length);
        assert_memory_equal(encoded->text.data + found->at, bytes + at, length);
        assert_memory_equal(encoded->text.data + found->at + length, encoded_mark, strlen(encoded_mark));
        assert_int_equal(found->start, phase + 8 * at / 6);
        assert_int_equal(found->end, phase + (8 * (at + length) + 5) / 6);
    }
}

/* Noise, of which a share comes out as text, beside a model that decodes each phase apart and a byte at a time. */
static void test_encoded_pieces_are_those_of_a_plain_model(void **state) {
    enum { ROUNDS = 400, MOST = 2000 };
    unsigned char noise[MOST], bytes[MOST];
    (void)state;
    for (unsigned round = 0; round < ROUNDS; round++) {
        const unsigned char seed[randombytes_SEEDBYTES] = {(unsigned char)round, (unsigned char)(round >> 8)};
        const size_t least = 1 + round % 9, share = round % 5;
        struct bytes text = {0};
        randombytes_buf_deterministic(noise, sizeof noise, seed);
        const size_t n = (noise[0] + 256U * noise[1]) % MOST;
        for (size_t i = 0; i < n; i++)
            noise[i] = noise[MOST - 1 - i / 16] % 5 < share ? 0x20 + noise[i] % 0x5e : noise[i];
        as_url_base64((const char *)noise, n, &text);
        for (enum encoded_way way = 0; way <= ENCODED_BASE64_WHOLE; way += ENCODED_BASE64_WHOLE) {
            auto_encoded encoded = {0};
            size_t piece = 0;
            encoded_find(text.data, text.n, way, least, &encoded);
            for (size_t phase = 0; phase < (way == ENCODED_BASE64 ? 4 : 1) && phase < text.n; phase++) {
                const size_t decoded = decode(text.data + phase, text.n - phase, bytes);
                expect_pieces(&encoded, &piece, bytes, decoded, phase, least);
            }
            assert_int_equal(piece, encoded_n(&encoded));
        }
        bytes_fini(&text);
    }
}

bool __wrap_bytes_reserve(struct bytes *bytes, size_t more);
bool __real_bytes_reserve(struct bytes *bytes, size_t more);

static size_t n_reserved, most_reserved = SIZE_MAX;

bool __wrap_bytes_reserve(struct bytes *bytes, size_t more) {
    if (n_reserved++ < most_reserved)
        return __real_bytes_reserve(bytes, more);
    bytes->failed = true;
    return false;
}

/* Characters of several bytes, too, of which memory has only the first. */
static void test_encoded_pieces_without_memory_are_said_to_be_missing(void **state) {
    struct bytes text = {0};
    (void)state;
    for (int i = 0; i < 200; i++)
        as_base64("\xc3\xa4 and \xe2\x82\xac, \xf0\x9f\x90\x8d\xc3 \xff", 20, &text);
    for (enum encoded_way way = 0; way <= ENCODED_BASE64_WHOLE; way++) {
        bool whole = false;
        for (size_t most = 0; !whole; most++) {
            auto_encoded encoded = {0};
            n_reserved = 0;
            most_reserved = most;
            encoded_find(text.data, text.n, way, 1, &encoded);
            whole = n_reserved <= most;
            assert_int_equal(bytes_ok(&encoded.text) && bytes_ok(&encoded.pieces), whole);
            most_reserved = SIZE_MAX;
        }
    }
    bytes_fini(&text);
}

static void test_encoded_hostile_text_takes_linear_time(void **state) {
    static const char *const units[] = {"A",   "AB\\n", "4",   "41 ", "0x41, ", "%",  "%4",
                                        "%41", "=",     "=\n", "=4",  "a=3D",   "\\", "Z2hw\n"};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct bytes text = {0}, left = {0};
        while (text.n < LONG_TEXT_BYTES / 4)
            bytes_append_text(&text, units[i]);
        redact_text(&redaction, text.data, text.n, &left);
        assert_true(bytes_ok(&left));
        bytes_fini(&text);
        bytes_fini(&left);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_redact_secret_in_any_encoding_at_any_place_is_taken_out),
        cmocka_unit_test(test_redact_secret_encoded_in_json_is_taken_out),
        cmocka_unit_test(test_redact_number_that_is_a_value_is_taken_out),
        cmocka_unit_test(test_redact_leaves_what_has_no_secret_when_decoded),
        cmocka_unit_test(test_redact_leaves_what_is_beside_an_encoded_secret),
        cmocka_unit_test(test_encoded_pieces_are_those_of_a_plain_model),
        cmocka_unit_test(test_encoded_pieces_without_memory_are_said_to_be_missing),
        cmocka_unit_test(test_encoded_hostile_text_takes_linear_time),
    };
    return cmocka_run_group_tests_name("encoded", tests, begin, end);
}
