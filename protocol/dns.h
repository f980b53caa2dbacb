/*
 * dns.h - a resolver's question, and the answer that there is no such name.
 *
 * Cells have no network, but programs in them ask for names: to be answered at
 * once, and to be told to the user. The packet is hostile input.
 *
 * See: RFC 1035, 4.1 "Format" and 2.3.4 "Size limits".
 */
#ifndef PETRI_DNS_H
#define PETRI_DNS_H

#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

enum {
    DNS_NAME_BYTES = 256,   /* of a name as text, with its NUL */
    DNS_PACKET_BYTES = 512, /* the most of a question that is read, and of its answer */
    DNS_TYPE_AAAA = 28,
};

struct dns_question {
    char name[DNS_NAME_BYTES]; /* without the dot at its end; characters that no host name has are question marks */
    uint16_t type;
    size_t end; /* where it ends in the packet */
};

/* Reads the one question of a query, n bytes of packet. 0, or -EBADMSG where it is no query with one question. */
int dns_read_question(const unsigned char *packet, size_t n, struct dns_question *ret_question) MUST_CHECK;

/* Makes the answer "no such name" of the query that question was read from, in its place. Returns its bytes. */
size_t dns_answer_none(unsigned char *packet, const struct dns_question *question);

#endif
