#include "fixture.h"

#include "protocol/signer.h"
#include "protocol/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char key[] = "a secret";

static struct signer *make_signer(void) {
    struct signer *signer = signer_create(key, sizeof key - 1);
    assert_non_null(signer);
    return signer;
}

/* Text in which 'h' stands for a hex digit, 'd' for a decimal one, anything else for itself. */
static void assert_pattern(const char *text, const char *pattern) {
    assert_int_equal(strlen(text), strlen(pattern));
    for (size_t i = 0; pattern[i] != '\0'; i++) {
        bool ok = pattern[i] == 'h'   ? isxdigit((unsigned char)text[i]) && !isupper((unsigned char)text[i])
                  : pattern[i] == 'd' ? isdigit((unsigned char)text[i]) != 0
                                      : text[i] == pattern[i];
        if (!ok)
            fail_msg("%s is not like %s", text, pattern);
    }
}

/* Checks what differs at each call, and the rest of the header against golden text with ID and DATE in it. */
static void assert_header(const struct frame *frame, const char *golden) {
    json_auto_t *header = json_loadb(frame->data, frame->bytes, 0, NULL);
    assert_non_null(header);
    assert_pattern(json_string_value(json_object_get(header, "msg_id")), "hhhhhhhh-hhhh-4hhh-hhhh-hhhhhhhhhhhh");
    assert_pattern(json_string_value(json_object_get(header, "date")), "dddd-dd-ddTdd:dd:dd.ddddddZ");
    assert_int_equal(json_string_set(json_object_get(header, "msg_id"), "ID"), 0);
    assert_int_equal(json_string_set(json_object_get(header, "date"), "DATE"), 0);
    char *text = json_dumps(header, JSON_COMPACT);
    assert_string_equal(text, golden);
    free(text);
}

static void assert_signed(const struct signer *signer, const struct frame *signature) {
    assert_int_equal(signature->bytes, SIGNER_HEX_BYTES);
    assert_true(signer_verify(signer, signature + 1, 4, signature));
}

static void test_encode_full_message_is_golden(void **state) {
    (void)state;
    const struct frame identities[] = {FRAME("\0id"), FRAME("")};
    const struct frame buffers[] = {FRAME("\0\1\2"), FRAME("")};
    json_auto_t *parent = json_pack("{s:s,s:s}", "msg_id", "p", "msg_type", "execute_request");
    json_auto_t *metadata = json_pack("{s:b}", "x", 1);
    json_auto_t *content = json_pack("{s:s,s:[i,f,n],s:{}}", "status", "ok\n", "list", 1, 0.1, "user_expressions");
    const struct message_parts parts = {
        .identities = identities,
        .n_identities = 2,
        .msg_type = "execute_reply",
        .session = "session-1",
        .username = "ann \"a\"",
        .parent = parent,
        .metadata = metadata,
        .content = content,
        .buffers = buffers,
        .n_buffers = 2,
    };
    struct signer *signer = make_signer();
    struct message_out out;
    assert_int_equal(message_encode(signer, &parts, &out), 0);
    assert_int_equal(out.n_frames, 10);
    assert_int_equal(out.frames[0].bytes, 3);
    assert_memory_equal(out.frames[0].data, "\0id", 3);
    assert_int_equal(out.frames[1].bytes, 0);
    assert_frame_text(out.frames[2], "<IDS|MSG>");
    assert_signed(signer, &out.frames[3]);
    assert_header(&out.frames[4], "{\"msg_id\":\"ID\",\"msg_type\":\"execute_reply\",\"username\":\"ann \\\"a\\\"\","
                                  "\"session\":\"session-1\",\"date\":\"DATE\",\"version\":\"5.6\"}");
    assert_frame_text(out.frames[5], "{\"msg_id\":\"p\",\"msg_type\":\"execute_request\"}");
    assert_frame_text(out.frames[6], "{\"x\":true}");
    assert_frame_text(out.frames[7], "{\"status\":\"ok\\n\",\"list\":[1,0.1,null],\"user_expressions\":{}}");
    assert_int_equal(out.frames[8].bytes, 3);
    assert_memory_equal(out.frames[8].data, "\0\1\2", 3);
    assert_int_equal(out.frames[9].bytes, 0);
    message_out_fini(&out);
    signer_destroy(signer);
}

static void test_encode_without_optional_parts_has_empty_objects(void **state) {
    (void)state;
    const struct message_parts parts = {.msg_type = "status", .session = "s"};
    struct signer *signer = make_signer();
    struct message_out out;
    assert_int_equal(message_encode(signer, &parts, &out), 0);
    assert_int_equal(out.n_frames, 6);
    assert_frame_text(out.frames[0], "<IDS|MSG>");
    assert_signed(signer, &out.frames[1]);
    assert_header(&out.frames[2], "{\"msg_id\":\"ID\",\"msg_type\":\"status\",\"username\":\"\",\"session\":\"s\","
                                  "\"date\":\"DATE\",\"version\":\"5.6\"}");
    for (size_t i = 3; i < 6; i++)
        assert_frame_text(out.frames[i], "{}");
    message_out_fini(&out);
    signer_destroy(signer);
}

static void test_encode_without_key_has_empty_signature(void **state) {
    (void)state;
    const struct frame buffer = FRAME("b");
    const struct message_parts parts = {.msg_type = "status", .session = "s", .buffers = &buffer, .n_buffers = 1};
    struct signer *signer = signer_create(NULL, 0);
    struct message_out out;
    assert_int_equal(message_encode(signer, &parts, &out), 0);
    assert_int_equal(out.frames[1].bytes, 0);
    assert_frame_text(out.frames[5], "{}");
    assert_frame_text(out.frames[6], "b");
    message_out_fini(&out);
    signer_destroy(signer);
}

/* Who has measured a part has written it: it goes out as it was measured, and the signature is over that. */
static void test_encode_parts_with_text_are_sent_unchanged(void **state) {
    struct signer *signer = signer_create("k", 1);
    json_auto_t *content = json_pack("{s:i}", "a", 1);
    struct message_parts parts = {.msg_type = "t",
                                  .session = "s",
                                  .content = content,
                                  .content_text = {"{\"a\": 1}", 8},
                                  .metadata_text = {"{ }", 3}};
    struct message_out out;
    struct message decoded;
    (void)state;
    assert_int_equal(message_encode(signer, &parts, &out), 0);
    assert_int_equal(out.frames[out.n_frames - 1].bytes, 8);
    assert_memory_equal(out.frames[out.n_frames - 1].data, "{\"a\": 1}", 8);
    assert_memory_equal(out.frames[out.n_frames - 2].data, "{ }", 3);
    assert_int_equal(message_decode(signer, &message_default_caps, out.frames, out.n_frames, &decoded), MESSAGE_OK);
    message_fini(&decoded);
    message_out_fini(&out);
    signer_destroy(signer);
}

static void test_encode_bad_parts_refused(void **state) {
    (void)state;
    json_auto_t *list = json_array();
    const struct message_parts rows[] = {
        {.session = "s"},
        {.msg_type = "t"},
        {.msg_type = "t", .session = "s", .parent = list},
        {.msg_type = "t", .session = "s", .metadata = list},
        {.msg_type = "t", .session = "s", .content = list},
    };
    struct signer *signer = make_signer();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct message_out out = {.n_frames = 77};
        assert_int_equal(message_encode(signer, &rows[i], &out), -EINVAL);
        assert_int_equal(out.n_frames, 77);
    }
    signer_destroy(signer);
}

static void test_encode_message_ids_differ(void **state) {
    (void)state;
    char one[37];
    char other[37];
    message_new_id(one);
    message_new_id(other);
    assert_string_not_equal(one, other);
    for (int i = 0; i < 64; i++) {
        message_new_id(one);
        assert_non_null(strchr("89ab", one[19]));
    }
}

static void test_encode_stream_is_golden(void **state) {
    static const char text[] = "a\tb\x1B[0m \"q\" \\ \xC3\xA9\xFF\0\n";
    (void)state;
    const struct message_parts parts = {.msg_type = "stream", .session = "s"};
    struct signer *signer = make_signer();
    struct message_out out;
    assert_int_equal(message_encode_stream(signer, &parts, "stdout", text, sizeof text - 1, &out), 0);
    assert_int_equal(out.n_frames, 6);
    assert_signed(signer, &out.frames[1]);
    assert_frame_text(out.frames[5],
                      "{\"name\":\"stdout\",\"text\":\"a\\tb\\u001b[0m \\\"q\\\" \\\\ \xC3\xA9\xEF\xBF\xBD"
                      "\\u0000\\n\"}");
    message_out_fini(&out);
    assert_int_equal(message_encode_stream(signer, &parts, "stderr", NULL, 0, &out), 0);
    assert_frame_text(out.frames[5], "{\"name\":\"stderr\",\"text\":\"\"}");
    message_out_fini(&out);
    signer_destroy(signer);
}

/* The quick way and the general one write the same for each of Python's fixtures. */
static void test_encode_stream_and_encode_agree(void **state) {
    (void)state;
    json_auto_t *rows = fixture_load("broken_utf8.json");
    struct signer *signer = make_signer();
    for (size_t i = 0; i < json_array_size(rows); i++) {
        size_t n;
        void *bytes = fixture_bytes(json_array_get(rows, i), "bytes", &n);
        json_auto_t *content = json_pack("{s:s,s:o}", "name", "stdout", "text", text_to_json(bytes, n));
        struct message_parts parts = {.msg_type = "stream", .session = "s", .content = content};
        struct message_out one;
        struct message_out other;
        assert_int_equal(message_encode(signer, &parts, &one), 0);
        assert_int_equal(message_encode_stream(signer, &parts, "stdout", bytes, n, &other), 0);
        assert_int_equal(one.frames[5].bytes, other.frames[5].bytes);
        assert_memory_equal(one.frames[5].data, other.frames[5].data, one.frames[5].bytes);
        message_out_fini(&one);
        message_out_fini(&other);
        free(bytes);
    }
    signer_destroy(signer);
}

/* What is encoded is what another kernel's signer with the same key decodes. */
static void test_encode_then_decode_gives_the_same_message(void **state) {
    (void)state;
    const struct frame identity = FRAME("id");
    const struct frame buffer = FRAME("\0buffer");
    json_auto_t *content =
        json_loads("{\"a\":[1,2.5,\"\\u0000\xC3\xA9\",{\"b\":null}],\"c\":\"\"}", JSON_ALLOW_NUL, NULL);
    const struct message_parts parts = {
        .identities = &identity,
        .n_identities = 1,
        .msg_type = "comm_msg",
        .session = "s",
        .username = "u",
        .content = content,
        .buffers = &buffer,
        .n_buffers = 1,
    };
    struct signer *signer = make_signer();
    struct signer *other = make_signer();
    struct message_out out;
    struct message message;
    assert_int_equal(message_encode(signer, &parts, &out), 0);
    assert_int_equal(message_decode(other, &message_default_caps, out.frames, out.n_frames, &message), MESSAGE_OK);
    message_out_fini(&out);
    assert_string_equal(message.msg_type, "comm_msg");
    assert_true(json_equal(message.content, content));
    assert_frame_text(message.identities[0], "id");
    assert_int_equal(message.buffers[0].bytes, 7);
    assert_memory_equal(message.buffers[0].data, "\0buffer", 7);
    message_fini(&message);
    signer_destroy(signer);
    signer_destroy(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encode_full_message_is_golden),
        cmocka_unit_test(test_encode_without_optional_parts_has_empty_objects),
        cmocka_unit_test(test_encode_without_key_has_empty_signature),
        cmocka_unit_test(test_encode_parts_with_text_are_sent_unchanged),
        cmocka_unit_test(test_encode_bad_parts_refused),
        cmocka_unit_test(test_encode_message_ids_differ),
        cmocka_unit_test(test_encode_stream_is_golden),
        cmocka_unit_test(test_encode_stream_and_encode_agree),
        cmocka_unit_test(test_encode_then_decode_gives_the_same_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
