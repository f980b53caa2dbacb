/* Questions for names: what is read of them, what is answered, and what is refused. */
#include "protocol/dns.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define HEADER "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
#define A "\x00\x01\x00\x01"
#define AAAA "\x00\x1c\x00\x01"
#define L63                                                                                                            \
    "\x3f"                                                                                                             \
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define PACKET(text) (const unsigned char *)(text), sizeof(text) - 1

static void test_question_has_its_name_and_type(void **state) {
    static const struct {
        const unsigned char *packet;
        size_t n;
        const char *name;
        uint16_t type;
    } rows[] = {
        {PACKET(HEADER "\x07"
                       "example"
                       "\x03"
                       "org"
                       "\x00" A),
         "example.org", 1},
        {PACKET(HEADER "\x07"
                       "example"
                       "\x03"
                       "org"
                       "\x00" AAAA),
         "example.org", DNS_TYPE_AAAA},
        {PACKET(HEADER "\x00" A), "", 1},
        {PACKET(HEADER "\x03"
                       "a.b"
                       "\x02"
                       "\x1b\xff"
                       "\x00" A),
         "a?b.??", 1},
        {PACKET(HEADER "\x01"
                       "a"
                       "\x00" A "and what follows"),
         "a", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dns_question question;
        assert_int_equal(dns_read_question(rows[i].packet, rows[i].n, &question), 0);
        assert_string_equal(question.name, rows[i].name);
        assert_int_equal(question.type, rows[i].type);
        assert_true(question.end <= rows[i].n);
    }
}

static void test_packet_that_is_no_question_is_refused(void **state) {
    static const struct {
        const unsigned char *packet;
        size_t n;
    } rows[] = {
        {PACKET("")},
        {PACKET("\x12\x34\x01\x00\x00\x01")},
        {PACKET(HEADER)},
        {PACKET(HEADER "\x07"
                       "exam")}, /* a label beyond the end */
        {PACKET(HEADER "\x01"
                       "a"
                       "\x00"
                       "\x00\x01\x00")}, /* no whole class */
        {PACKET(HEADER "\x01"
                       "a"
                       "\xc0\x0c" A)},             /* a pointer */
        {PACKET(HEADER "\x40" L63 "\x00" A)},      /* a label over 63 bytes */
        {PACKET(HEADER L63 L63 L63 L63 "\x00" A)}, /* a name over 255 bytes */
        {PACKET("\x12\x34\x81\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                "\x01"
                "a"
                "\x00" A)}, /* an answer */
        {PACKET("\x12\x34\x01\x00\x00\x02\x00\x00\x00\x00\x00\x00"
                "\x01"
                "a"
                "\x00" A)}, /* two questions */
        {PACKET("\x12\x34\x11\x00\x00\x01\x00\x00\x00\x00\x00\x00"
                "\x01"
                "a"
                "\x00" A)}, /* not a query */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct dns_question question = {.type = 77};
        assert_int_equal(dns_read_question(rows[i].packet, rows[i].n, &question), -EBADMSG);
        assert_int_equal(question.type, 77);
    }
}

static void test_answer_is_the_question_with_no_such_name(void **state) {
    static const char asked[] = HEADER "\x01"
                                       "a"
                                       "\x00" A "\x00\x00\x29\x10\x00";
    static const char answer[] = "\x12\x34\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00"
                                 "\x01"
                                 "a"
                                 "\x00" A;
    unsigned char packet[sizeof asked];
    struct dns_question question;
    (void)state;
    memcpy(packet, asked, sizeof asked);
    assert_int_equal(dns_read_question(packet, sizeof asked - 1, &question), 0);
    assert_int_equal(dns_answer_none(packet, &question), sizeof answer - 1);
    assert_memory_equal(packet, answer, sizeof answer - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_question_has_its_name_and_type),
        cmocka_unit_test(test_packet_that_is_no_question_is_refused),
        cmocka_unit_test(test_answer_is_the_question_with_no_such_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
