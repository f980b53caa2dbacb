#include "fixture.h"

#include "base/slices.h"
#include "protocol/signer.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FRAMES = 16 };

/* Frames of a fixture's row, malloc'ed each. */
struct row {
    struct signer *signer;
    struct frame frames[MAX_FRAMES];
    size_t n_frames;
};

static void row_init(struct row *row, const json_t *json) {
    size_t key_bytes;
    void *key = fixture_bytes(json, "key", &key_bytes);
    const json_t *frames = json_object_get(json, "frames");
    row->signer = signer_create(key, key_bytes);
    row->n_frames = json_array_size(frames);
    assert_non_null(row->signer);
    assert_in_range(row->n_frames, 1, MAX_FRAMES);
    for (size_t i = 0; i < row->n_frames; i++)
        row->frames[i].data = fixture_unhex(json_array_get(frames, i), &row->frames[i].bytes);
    free(key);
}

static void row_fini(struct row *row) {
    signer_destroy(row->signer);
    for (size_t i = 0; i < row->n_frames; i++)
        free((void *)(uintptr_t)row->frames[i].data);
}

static enum message_problem decode(struct signer *signer, const struct frame *frames, size_t n, struct message *ret) {
    return message_decode(signer, &message_default_caps, frames, n, ret);
}

static void check_golden(const json_t *json) {
    struct row row;
    struct message message;
    row_init(&row, json);
    enum message_problem problem = decode(row.signer, row.frames, row.n_frames, &message);
    if (problem != MESSAGE_OK)
        fail_msg("%s: %s", json_string_value(json_object_get(json, "name")), message_problem_text(problem));
    if (!json_equal(message.content, json_object_get(json, "content")))
        fail_msg("%s: other content", json_string_value(json_object_get(json, "name")));
    assert_string_equal(message.msg_id, "m-1");
    assert_string_equal(message.msg_type, "execute_request");
    assert_int_equal(json_object_size(message.header), 5);
    assert_int_equal(json_object_size(message.parent), 0);
    assert_int_equal(json_object_size(message.metadata), 1);
    assert_int_equal(message.n_identities, 1);
    assert_int_equal(message.identities[0].bytes, row.frames[0].bytes);
    assert_memory_equal(message.identities[0].data, row.frames[0].data, row.frames[0].bytes);
    assert_int_equal(message.n_buffers, 2);
    assert_memory_equal(message.buffers[0].data, "\0\1buffer", 8);
    assert_int_equal(message.buffers[1].bytes, 0);
    message_fini(&message);
    row_fini(&row);
}

static void test_decode_signed_by_python_gives_what_python_reads(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("messages.json");
    for (size_t i = 0; i < json_array_size(rows); i++)
        check_golden(json_array_get(rows, i));
}

/* One bit anywhere in what is signed, or in the signature. */
static void test_decode_any_changed_byte_is_bad_signature(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("messages.json");
    struct row row;
    struct message message;
    row_init(&row, json_array_get(rows, 0));
    for (size_t i = 2; i < 7; i++) {
        for (size_t j = 0; j < row.frames[i].bytes; j++) {
            unsigned char *byte = (unsigned char *)(uintptr_t)row.frames[i].data + j;
            *byte ^= 0x20;
            assert_int_equal(decode(row.signer, row.frames, row.n_frames, &message), MESSAGE_BAD_SIGNATURE);
            *byte ^= 0x20;
        }
    }
    assert_int_equal(decode(row.signer, row.frames, row.n_frames, &message), MESSAGE_OK);
    message_fini(&message);
    row_fini(&row);
}

static void test_decode_same_message_twice_is_replayed(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("messages.json");
    struct row row;
    struct message message;
    row_init(&row, json_array_get(rows, 0));
    assert_int_equal(decode(row.signer, row.frames, row.n_frames, &message), MESSAGE_OK);
    message_fini(&message);
    assert_int_equal(decode(row.signer, row.frames, row.n_frames, &message), MESSAGE_REPLAYED);
    row_fini(&row);
}

static void test_decode_unsigned_with_key_is_bad_signature(void **state) {
    (void)state;
    const struct frame frames[] = {FRAME("<IDS|MSG>"), FRAME(""),   FRAME("{\"msg_id\":\"1\",\"msg_type\":\"t\"}"),
                                   FRAME("{}"),        FRAME("{}"), FRAME("{}")};
    struct message message;
    struct signer *signer = signer_create("k", 1);
    assert_int_equal(decode(signer, frames, 6, &message), MESSAGE_BAD_SIGNATURE);
    signer_destroy(signer);
}

#define GOOD_HEADER "{\"msg_id\":\"1\",\"msg_type\":\"t\"}"

/* Unsigned messages in all the ways they can be wrong, and some in which they can't. */
static const struct {
    const char *name;
    enum message_problem problem;
    size_t n_frames;
    struct frame frames[8];
} shapes[] = {
#define D                                                                                                              \
    { "<IDS|MSG>", 9 }
#define T(text)                                                                                                        \
    { text, sizeof(text) - 1 }
#define H T(GOOD_HEADER)
#define E T("{}")
    {"good", MESSAGE_OK, 6, {D, T(""), H, E, E, E}},
    {"any signature under no key", MESSAGE_OK, 6, {D, T("x"), H, E, E, E}},
    {"two identities", MESSAGE_OK, 8, {T("a"), T(""), D, T(""), H, E, E, E}},
    {"second delimiter is a buffer", MESSAGE_OK, 7, {D, T(""), H, E, E, E, D}},
    {"no frames", MESSAGE_NO_DELIMITER, 0, {E}},
    {"only an identity", MESSAGE_NO_DELIMITER, 1, {T("a")}},
    {"delimiter with something behind", MESSAGE_NO_DELIMITER, 6, {T("<IDS|MSG>x"), T(""), H, E, E, E}},
    {"delimiter cut short", MESSAGE_NO_DELIMITER, 6, {T("<IDS|MSG"), T(""), H, E, E, E}},
    {"delimiter alone", MESSAGE_TOO_SHORT, 1, {D}},
    {"two frames", MESSAGE_TOO_SHORT, 2, {D, T("")}},
    {"no content", MESSAGE_TOO_SHORT, 5, {D, T(""), H, E, E}},
    {"delimiter at the end", MESSAGE_TOO_SHORT, 8, {E, E, E, E, E, E, E, D}},
    {"empty header", MESSAGE_BAD_JSON, 6, {D, T(""), T(""), E, E, E}},
    {"header is a list", MESSAGE_BAD_JSON, 6, {D, T(""), T("[]"), E, E, E}},
    {"parent is null", MESSAGE_BAD_JSON, 6, {D, T(""), H, T("null"), E, E}},
    {"metadata is text", MESSAGE_BAD_JSON, 6, {D, T(""), H, E, T("\"\""), E}},
    {"content is a number", MESSAGE_BAD_JSON, 6, {D, T(""), H, E, E, T("1")}},
    {"content is truncated", MESSAGE_BAD_JSON, 6, {D, T(""), H, E, E, T("{\"a\":")}},
    {"header without anything", MESSAGE_BAD_HEADER, 6, {D, T(""), E, E, E, E}},
    {"no msg_id", MESSAGE_BAD_HEADER, 6, {D, T(""), T("{\"msg_type\":\"t\"}"), E, E, E}},
    {"no msg_type", MESSAGE_BAD_HEADER, 6, {D, T(""), T("{\"msg_id\":\"1\"}"), E, E, E}},
    {"msg_id is a number", MESSAGE_BAD_HEADER, 6, {D, T(""), T("{\"msg_id\":1,\"msg_type\":\"t\"}"), E, E, E}},
    {"msg_type is null", MESSAGE_BAD_HEADER, 6, {D, T(""), T("{\"msg_id\":\"1\",\"msg_type\":null}"), E, E, E}},
    {"msg_id is empty", MESSAGE_BAD_HEADER, 6, {D, T(""), T("{\"msg_id\":\"\",\"msg_type\":\"t\"}"), E, E, E}},
    {"msg_id with NUL", MESSAGE_BAD_HEADER, 6, {D, T(""), T("{\"msg_id\":\"a\\u0000\",\"msg_type\":\"t\"}"), E, E, E}},
    {"msg_type with NUL",
     MESSAGE_BAD_HEADER,
     6,
     {D, T(""), T("{\"msg_id\":\"1\",\"msg_type\":\"t\\u0000\"}"), E, E, E}},
#undef D
#undef T
#undef H
#undef E
};

static void test_decode_malformed_frames_give_the_matching_problem(void **state) {
    (void)state;
    struct signer *signer = signer_create("", 0);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct message message;
        enum message_problem problem = decode(signer, shapes[i].frames, shapes[i].n_frames, &message);
        if (problem != shapes[i].problem)
            fail_msg("%s: %s", shapes[i].name, message_problem_text(problem));
        if (problem == MESSAGE_OK)
            message_fini(&message);
    }
    signer_destroy(signer);
}

/* Decodes GOOD_HEADER with one more frame under caps. */
static enum message_problem decode_capped(const struct message_caps *caps, struct frame content, struct frame buffer) {
    const struct frame frames[] = {
        FRAME("<IDS|MSG>"), FRAME(""), FRAME(GOOD_HEADER), FRAME("{}"), FRAME("{}"), content, buffer};
    struct message message;
    struct signer *signer = signer_create("", 0);
    enum message_problem problem = message_decode(signer, caps, frames, 7, &message);
    if (problem == MESSAGE_OK)
        message_fini(&message);
    signer_destroy(signer);
    return problem;
}

static void test_decode_at_each_cap_passes_and_over_it_is_refused(void **state) {
    (void)state;
    size_t bytes = 9 + sizeof GOOD_HEADER - 1 + 4 + 10 + 3;
    struct frame content = FRAME("{\"a\":[{}]}");
    struct frame buffer = FRAME("abc");
    assert_int_equal(content.bytes, 10);
    struct message_caps caps = {.max_frames = 7, .max_bytes = bytes, .max_depth = 3, .max_values = 13};
    assert_int_equal(decode_capped(&caps, content, buffer), MESSAGE_OK);
    caps.max_values = 12; /* three containers and a member */
    assert_int_equal(decode_capped(&caps, content, buffer), MESSAGE_BAD_JSON);
    caps.max_depth = 2;
    assert_int_equal(decode_capped(&caps, content, buffer), MESSAGE_BAD_JSON);
    caps.max_bytes = bytes - 1;
    assert_int_equal(decode_capped(&caps, content, buffer), MESSAGE_TOO_LARGE);
    caps.max_frames = 6;
    assert_int_equal(decode_capped(&caps, content, buffer), MESSAGE_TOO_MANY_FRAMES);
}

/* The sum of the lengths may not wrap round; nothing of such a frame is looked at. */
static void test_decode_lengths_that_overflow_are_too_large(void **state) {
    (void)state;
    struct frame huge = {"{}", SIZE_MAX - 8};
    assert_int_equal(decode_capped(&message_default_caps, FRAME("{}"), huge), MESSAGE_TOO_LARGE);
    assert_int_equal(decode_capped(&message_default_caps, huge, huge), MESSAGE_TOO_LARGE);
}

static enum message_problem decode_ids(size_t id_bytes, size_t type_bytes) {
    char header[4096];
    char text[2048];
    memset(text, 'x', sizeof text);
    int bytes = snprintf(header, sizeof header, "{\"msg_id\":\"%.*s\",\"msg_type\":\"%.*s\"}", (int)id_bytes, text,
                         (int)type_bytes, text);
    const struct frame frames[] = {FRAME("<IDS|MSG>"), FRAME(""),   {header, (size_t)bytes},
                                   FRAME("{}"),        FRAME("{}"), FRAME("{}")};
    struct message message;
    struct signer *signer = signer_create("", 0);
    enum message_problem problem = decode(signer, frames, 6, &message);
    if (problem == MESSAGE_OK)
        message_fini(&message);
    signer_destroy(signer);
    return problem;
}

static void test_decode_long_ids_are_bad_header(void **state) {
    (void)state;
    assert_int_equal(decode_ids(MESSAGE_MAX_ID_BYTES, MESSAGE_MAX_TYPE_BYTES), MESSAGE_OK);
    assert_int_equal(decode_ids(MESSAGE_MAX_ID_BYTES + 1, 1), MESSAGE_BAD_HEADER);
    assert_int_equal(decode_ids(1, MESSAGE_MAX_TYPE_BYTES + 1), MESSAGE_BAD_HEADER);
}

/* Whoever is served while a large message is decoded or freed: decodes a message by the same signer, unseen and seen.
 */
struct others {
    struct signer *signer;
    unsigned turns;
};

/* A message, signed by a signer, whose content is a text of so many bytes. */
static enum message_problem decode_of(const struct signer *sender, struct signer *signer, unsigned id, size_t bytes,
                                      struct message *ret) {
    char header[64], hex[SIGNER_HEX_BYTES];
    char *content = malloc(bytes + 16);
    int n = sprintf(content, "{\"text\": \"");
    memset(content + n, 'x', bytes);
    (void)sprintf(content + (size_t)n + bytes, "\"}");
    const int header_bytes = snprintf(header, sizeof header, "{\"msg_id\": \"%u\", \"msg_type\": \"t\"}", id);
    const struct frame frames[] = {{"<IDS|MSG>", 9}, {hex, sizeof hex}, {header, (size_t)header_bytes},
                                   {"{}", 2},        {"{}", 2},         {content, strlen(content)}};
    signer_sign(sender, frames + 2, 4, hex);
    enum message_problem problem = decode(signer, frames, 6, ret);
    free(content);
    return problem;
}

static enum message_problem decode_signed(struct signer *signer, unsigned id, size_t bytes, struct message *ret) {
    return decode_of(signer, signer, id, bytes, ret);
}

static void take_turn(void *arg, int wait_ms) {
    struct others *others = arg;
    struct message message;
    (void)wait_ms;
    assert_int_equal(decode_signed(others->signer, 1 + others->turns, 1, &message), MESSAGE_OK);
    message_fini(&message);
    assert_int_equal(decode_signed(others->signer, 1 + others->turns, 1, &message), MESSAGE_REPLAYED);
    others->turns++;
}

static void test_others_are_served_while_a_large_message_is_decoded(void **state) {
    enum { BYTES = 128 << 20 };
    struct others others = {.signer = signer_create("key", 3)};
    struct message message;
    (void)state;
    slices_serve(take_turn, &others);
    assert_int_equal(decode_signed(others.signer, 0, 2, &message), MESSAGE_OK);
    message_fini(&message);
    assert_int_equal(others.turns, 0);
    assert_int_equal(decode_signed(others.signer, 0, BYTES, &message), MESSAGE_OK);
    assert_true(others.turns > 0);
    assert_int_equal(json_string_length(json_object_get(message.content, "text")), BYTES);
    assert_true(message.bytes > BYTES);
    slices_serve(NULL, NULL);
    message_fini(&message);
    assert_null(message.content);
    assert_int_equal(decode_signed(others.signer, 0, BYTES, &message), MESSAGE_REPLAYED);
    signer_destroy(others.signer);
}

static void test_others_are_served_while_the_signature_of_a_strangers_large_message_is_checked(void **state) {
    struct others others = {.signer = signer_create("key", 3)};
    struct signer *stranger = signer_create("another", 7);
    struct message message;
    (void)state;
    slices_serve(take_turn, &others);
    assert_int_equal(decode_of(stranger, others.signer, 0, 128 << 20, &message), MESSAGE_BAD_SIGNATURE);
    assert_true(others.turns > 0);
    slices_serve(NULL, NULL);
    signer_destroy(stranger);
    signer_destroy(others.signer);
}

static void test_each_problem_has_a_sentence_of_its_own(void **state) {
    (void)state;
    for (int i = 0; i < MESSAGE_N_PROBLEMS; i++) {
        const char *text = message_problem_text((enum message_problem)i);
        assert_non_null(text);
        assert_int_equal(text[strlen(text) - 1], '.');
        for (int j = 0; j < i; j++)
            assert_string_not_equal(text, message_problem_text((enum message_problem)j));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_signed_by_python_gives_what_python_reads),
        cmocka_unit_test(test_decode_any_changed_byte_is_bad_signature),
        cmocka_unit_test(test_decode_same_message_twice_is_replayed),
        cmocka_unit_test(test_decode_unsigned_with_key_is_bad_signature),
        cmocka_unit_test(test_decode_malformed_frames_give_the_matching_problem),
        cmocka_unit_test(test_decode_at_each_cap_passes_and_over_it_is_refused),
        cmocka_unit_test(test_decode_lengths_that_overflow_are_too_large),
        cmocka_unit_test(test_decode_long_ids_are_bad_header),
        cmocka_unit_test(test_others_are_served_while_a_large_message_is_decoded),
        cmocka_unit_test(test_others_are_served_while_the_signature_of_a_strangers_large_message_is_checked),
        cmocka_unit_test(test_each_problem_has_a_sentence_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
