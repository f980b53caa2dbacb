/*
 * dns.c - one pass over the labels of the question; compression is not followed, as no question needs it.
 *
 * The answer is the query's header and question: bits are set, and all else that
 * followed is left out.
 */

#include "dns.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
    HEADER_BYTES = 12,
    LABEL_MAX = 63,
    BEHIND_NAME = 4, /* bytes of the question's type and class */
};

static uint16_t read_u16(const unsigned char *at) {
    return (uint16_t)(at[0] << 8 | at[1]);
}

/* Whether a header is a query's (QR 0, OPCODE 0) with one question. */
static bool is_query(const unsigned char *header) {
    return (header[2] & 0xf8) == 0 && read_u16(header + 4) == 1;
}

static char shown(unsigned char c) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    return plain ? (char)c : '?';
}

/* Reads the labels from *at on, up to the empty one, and moves *at behind it. 0 or -EBADMSG. */
static int read_name(const unsigned char *packet, size_t n, size_t *at, char name[DNS_NAME_BYTES]) {
    size_t used = 0;
    for (;;) {
        const size_t label = *at < n ? packet[*at] : LABEL_MAX + 1U;
        if (label > LABEL_MAX || *at + 1 + label > n || used + label + 2 > DNS_NAME_BYTES)
            return -EBADMSG;
        const unsigned char *text = packet + *at + 1;
        *at += 1 + label;
        if (label == 0)
            break;
        if (used > 0)
            name[used++] = '.';
        for (size_t i = 0; i < label; i++)
            name[used++] = shown(text[i]);
    }
    name[used] = '\0';
    return 0;
}

int dns_read_question(const unsigned char *packet, size_t n, struct dns_question *ret_question) {
    struct dns_question question = {0};
    size_t at = HEADER_BYTES;
    if (n < HEADER_BYTES || !is_query(packet) || read_name(packet, n, &at, question.name) < 0 || at + BEHIND_NAME > n)
        return -EBADMSG;
    question.type = read_u16(packet + at);
    question.end = at + BEHIND_NAME;
    *ret_question = question;
    return 0;
}

size_t dns_answer_none(unsigned char *packet, const struct dns_question *question) {
    enum { RESPONSE = 0x80, RECURSION_AVAILABLE = 0x80, NO_SUCH_NAME = 3 };
    packet[2] |= RESPONSE;
    packet[3] = RECURSION_AVAILABLE | NO_SUCH_NAME;
    memset(packet + 6, 0, HEADER_BYTES - 6); /* no answers, and nothing beside the question */
    return question->end;
}
