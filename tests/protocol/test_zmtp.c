#include "protocol/zmtp.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GREETING_3(mechanism) "\xff\0\0\0\0\0\0\0\1\x7f\3\1" mechanism "\0" ZEROS_31
#define NULL_20 "NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define CURVE_20 "CURVE\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define ZEROS_31 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define LITERAL(text) (text), sizeof(text) - 1

static struct zmtp zmtp;

static int begin(void **state) {
    (void)state;
    zmtp = (struct zmtp){0};
    return zmtp_count(&zmtp, LITERAL(GREETING_3(NULL_20)));
}

static void expect(uint64_t messages, uint64_t frames, uint64_t bytes) {
    assert_int_equal(zmtp.messages, messages);
    assert_int_equal(zmtp.frames, frames);
    assert_int_equal(zmtp.bytes, bytes);
}

static void add(const char *data, size_t n) {
    assert_int_equal(zmtp_count(&zmtp, data, n), 0);
}

static void test_zmtp_frames_count_until_their_message_ends(void **state) {
    (void)state;
    expect(0, 0, 0);
    add(LITERAL("\1\3abc"));
    expect(0, 1, 3);
    add(LITERAL("\1\0\1\0\1\2de"));
    expect(0, 4, 5);
    add(LITERAL("\0\3xy"));
    expect(0, 5, 7);
    add(LITERAL("z"));
    expect(1, 0, 0);
    assert_int_equal(zmtp.begun, 5);
    assert_int_equal(zmtp.kept, 8);
    add(LITERAL("\0\0"));
    expect(2, 0, 0);
}

static void test_zmtp_large_frame_has_a_length_of_eight_bytes(void **state) {
    (void)state;
    add(LITERAL("\3\0\0\0\0\0\0\1\2ab"));
    expect(0, 1, 2);
    char rest[256] = "";
    add(rest, sizeof rest);
    expect(0, 1, 258);
    add(LITERAL("\2\xff\xff\xff\xff\xff\xff\xff\xffx"));
    expect(0, 2, 259);
}

static void test_zmtp_command_ends_no_message(void **state) {
    (void)state;
    add(LITERAL("\1\1a\4\7\4PING\0\1"));
    expect(0, 1, 1);
    add(LITERAL("\4\6\5READY"));
    expect(0, 1, 1);
    assert_int_equal(zmtp.kept, 1 + 6); /* the heartbeat is not */
    add(LITERAL("\0\0"));
    expect(1, 0, 0);
}

static void test_zmtp_long_command_is_refused(void **state) {
    (void)state;
    add(LITERAL("\6\0\0\0\0\0\0\x20\0"));
    begin(NULL);
    assert_int_equal(zmtp_count(&zmtp, LITERAL("\6\0\0\0\0\0\0\x20\1")), -EPROTO);
}

static void test_zmtp_greetings_are_accepted_or_refused(void **state) {
    static const struct {
        const char *text;
        size_t bytes;
        int r;
        bool curve;
        const char *why;
    } rows[] = {
        {LITERAL(GREETING_3(CURVE_20)), 0, true, "CURVE"},
        {LITERAL("\xff\0\0\0\0\0\0\0\0\x7f\1\x06"), 0, false, "ZMTP 2.0"},
        {LITERAL("\1\0"), -EPROTO, false, "ZMTP 1.0, a short identity"},
        {LITERAL("\xff\0\0\0\0\0\0\0\0\0"), -EPROTO, false, "ZMTP 1.0, a long identity"},
        {LITERAL("\xff\0\0\0\0\0\0\0\0\x7f\0"), -EPROTO, false, "revision 0"},
        {LITERAL("GET / HTTP/1.1\r\n"), -EPROTO, false, "another protocol"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        zmtp = (struct zmtp){0};
        if (zmtp_count(&zmtp, rows[i].text, rows[i].bytes) != rows[i].r || zmtp.curve != rows[i].curve)
            fail_msg("%s", rows[i].why);
        if (rows[i].r < 0)
            continue;
        add(LITERAL("\1\1a"));
        expect(0, 1, 1);
    }
}

/* The same numbers however the bytes come. */
static void test_zmtp_pieces_count_as_the_whole(void **state) {
    static const char text[] = GREETING_3(NULL_20) "\4\6\5READY\1\3abc\0\2de\3\0\0\0\0\0\0\0\4wxyz\4\5\4PING\1\0";
    (void)state;
    struct zmtp whole = {0};
    assert_int_equal(zmtp_count(&whole, LITERAL(text)), 0);
    for (size_t piece = 1; piece < 20; piece++) {
        zmtp = (struct zmtp){0};
        for (size_t at = 0; at < sizeof text - 1; at += piece)
            add(text + at, sizeof text - 1 - at < piece ? sizeof text - 1 - at : piece);
        expect(whole.messages, whole.frames, whole.bytes);
        assert_int_equal(zmtp.begun, whole.begun);
        assert_int_equal(zmtp.kept, whole.kept);
    }
    expect(1, 2, 4);
}

/* The identity is found whole and in pieces, wherever it stands among the properties. */
static void test_zmtp_identity_has_its_position_in_the_bytes(void **state) {
    static const struct {
        const char *text;
        size_t bytes;
        const char *identity; /* NULL: refused */
        const char *why;
    } rows[] = {
        {LITERAL(GREETING_3(NULL_20) "\4\x29\5READY\x0bSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0\0"), "",
         "an empty one"},
        {LITERAL(GREETING_3(NULL_20) "\4\x2b\5READY\x0bSocket-Type\0\0\0\6DEALER\x08Identity\0\0\0\2me\0\2hi"), "me",
         "last"},
        {LITERAL(GREETING_3(NULL_20) "\4\x22\5READY\x08identitY\0\0\0\3you\x04Test\0\0\0\4abcd"), "you",
         "first, in capitals"},
        {LITERAL(GREETING_3(NULL_20) "\0\x15\5READY\x08Identity\0\0\0\2me"), "me", "no command: libzmq takes it, too"},
        {LITERAL(GREETING_3(NULL_20) "\4\x15\5ERROR\x08Identity\0\0\0\2me"), "", "another command"},
        {LITERAL(GREETING_3(NULL_20) "\4\6\5READY\4\x15\5READY\x08Identity\0\0\0\2me"), "", "a second READY"},
        {LITERAL(GREETING_3(NULL_20) "\4\x15\5READY\x08Identitx\0\0\0\2me"), "", "another name"},
        {LITERAL(GREETING_3(NULL_20) "\4\x24\5READY\x08Identity\0\0\0\2me\x08Identity\0\0\0\2me"), NULL, "two"},
        {LITERAL(GREETING_3(NULL_20) "\4\x15\5READY\x08Identity\0\0\1\0me"), NULL, "too long"},
        {LITERAL(GREETING_3(CURVE_20) "\4\x15\5READY\x08Identity\0\0\0\2me"), "", "encrypted"},
        {LITERAL("\xff\0\0\0\0\0\0\0\0\x7f\1\x06\0\3you\0\2hi"), "you", "ZMTP 2.0"},
        {LITERAL("\xff\0\0\0\0\0\0\0\0\x7f\1\x06\0\0\0\2hi"), "", "ZMTP 2.0, an empty one"},
        {LITERAL("\xff\0\0\0\0\0\0\0\0\x7f\1\x06\2\0\0\0\0\0\0\1\0hi"), NULL, "ZMTP 2.0, too long"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t piece = 1; piece <= rows[i].bytes; piece++) {
            char found[ZMTP_IDENTITY_BYTES + 1] = "";
            int r = 0;
            zmtp = (struct zmtp){0};
            for (size_t at = 0; at < rows[i].bytes && r == 0; at += piece) {
                size_t n = rows[i].bytes - at < piece ? rows[i].bytes - at : piece;
                r = zmtp_count(&zmtp, rows[i].text + at, n);
                memcpy(found + zmtp.identity_received - zmtp.part_n, rows[i].text + at + zmtp.part_at, zmtp.part_n);
            }
            bool as_it_should = rows[i].identity ? r == 0 && strcmp(found, rows[i].identity) == 0 &&
                                                       zmtp.identity_bytes == strlen(found)
                                                 : r == -EPROTO;
            if (!as_it_should)
                fail_msg("%s, in pieces of %zu: %d, \"%s\"", rows[i].why, piece, r, found);
        }
}

static void test_zmtp_ready_over_the_cap_of_a_command_is_refused(void **state) {
    (void)state;
    assert_int_equal(zmtp_count(&zmtp, LITERAL("\2\0\0\0\0\0\0\x20\1")), -EPROTO);
}

#define CASE(test) cmocka_unit_test_setup(test, begin)

int main(void) {
    const struct CMUnitTest tests[] = {
        CASE(test_zmtp_frames_count_until_their_message_ends),
        CASE(test_zmtp_large_frame_has_a_length_of_eight_bytes),
        CASE(test_zmtp_command_ends_no_message),
        CASE(test_zmtp_long_command_is_refused),
        CASE(test_zmtp_greetings_are_accepted_or_refused),
        CASE(test_zmtp_pieces_count_as_the_whole),
        CASE(test_zmtp_identity_has_its_position_in_the_bytes),
        CASE(test_zmtp_ready_over_the_cap_of_a_command_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
