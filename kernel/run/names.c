/*
 * names.c - a question is one datagram, hostile input as everything that comes from a cell.
 *
 * They are bounded, in each turn of the loop and in all: after that nobody answers.
 */

#include "names.h"

#include "protocol/dns.h"
#include "sandbox/sandbox.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum { ANSWERED_MAX = 1000, AT_ONCE = 16 };

/* Answers one question. False where none waits. */
static bool answer(struct names *names) {
    unsigned char packet[DNS_PACKET_BYTES];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    struct dns_question question;
    ssize_t n = recvfrom(names->fd, packet, sizeof packet, 0, (struct sockaddr *)&from, &size);
    if (n < 0)
        return false;
    names->answered++;
    if (dns_read_question(packet, (size_t)n, &question) < 0)
        return true;
    if (names->asked)
        names->asked(names->arg, question.name, question.type != DNS_TYPE_AAAA);
    size_t bytes = dns_answer_none(packet, &question);
    if (sendto(names->fd, packet, bytes, MSG_NOSIGNAL, (struct sockaddr *)&from, size) < 0)
        return true; /* whoever has asked is gone, or asks again */
    return true;
}

static void asked(void *arg, short events) {
    struct names *names = arg;
    (void)events;
    for (int i = 0; i < AT_ONCE && answer(names); i++)
        continue;
}

void names_watch(struct names *names, struct cell *cell, struct poll_set *set) {
    if (names->answered >= ANSWERED_MAX)
        return;
    names->fd = cell_names_fd(cell);
    if (names->fd >= 0)
        poll_set_add_fd(set, names->fd, ZMQ_POLLIN, asked, names);
}
