/*
 * fuzz_dns.c - what a program in a cell asks a resolver.
 *
 * A question lies within its packet, its name is text, and the answer has the
 * same question.
 */
#include "fuzz.h"

#include "protocol/dns.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char packet[DNS_PACKET_BYTES];
    struct dns_question question, again;
    size_t n = size < sizeof packet ? size : sizeof packet;
    memcpy(packet, data, n);
    if (dns_read_question(packet, n, &question) < 0)
        return 0;
    INVARIANT(question.end <= n && strlen(question.name) < DNS_NAME_BYTES);
    INVARIANT(strspn(question.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.?") ==
              strlen(question.name));
    size_t bytes = dns_answer_none(packet, &question);
    INVARIANT(bytes == question.end);
    INVARIANT(dns_read_question(packet, bytes, &again) < 0); /* an answer is no query */
    packet[2] &= 0x7f;
    INVARIANT(dns_read_question(packet, bytes, &again) == 0 && strcmp(question.name, again.name) == 0);
    return 0;
}
