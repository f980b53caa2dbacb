/*
 * registration.c - sends the ports once, and receives messages until one is the receipt or the time is over.
 *
 * A receipt is signed with the kernel's key and is not the kernel's own message.
 * Any other message is ignored, so another peer can delay the start, but can't
 * act as the launcher. Blocking is fine here, because there are no clients before
 * the receipt.
 */

#include "registration.h"

#include "kernel/base/clock.h"
#include "protocol/signer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

enum {
    RECEIPT_S = 30,
    LINGER_MS = 1000,
    MAX_FRAMES = 8,    /* of a receipt: identities, delimiter, signature, content */
    MAX_BYTES = 65536, /* of one of them */
};

static const char delimiter[] = "<IDS|MSG>";
enum { DELIMITER_BYTES = sizeof delimiter - 1 };

/* The specification wants ports as strings here. The caller's: free(); NULL on ENOMEM. */
static char *ports_text(const struct connection *connection) {
    json_auto_t *content = json_pack("{s:s}", "kernel_id", connection->kernel_id);
    for (size_t i = 0; content && i < CHANNEL_N; i++)
        json_object_set_new(content, connection_port_keys[i], json_sprintf("%d", connection->port[i]));
    return content ? json_dumps(content, JSON_COMPACT) : NULL;
}

static int send_ports(void *socket, const struct signer *signer, const struct frame *ports) {
    char hex[SIGNER_HEX_BYTES];
    size_t hex_bytes = signer_sign(signer, ports, 1, hex);
    if (zmq_send(socket, delimiter, DELIMITER_BYTES, ZMQ_SNDMORE) < 0 ||
        zmq_send(socket, hex, hex_bytes, ZMQ_SNDMORE) < 0 || zmq_send(socket, ports->data, ports->bytes, 0) < 0)
        return -errno;
    return 0;
}

bool registration_is_receipt(const struct signer *signer, const struct frame *sent, const struct frame *frames,
                             size_t n) {
    enum { TAIL = 3 };
    if (n < TAIL)
        return false;
    const struct frame *tail = &frames[n - TAIL];
    bool is_echo = tail[2].bytes == sent->bytes && memcmp(tail[2].data, sent->data, sent->bytes) == 0;
    return tail[0].bytes == DELIMITER_BYTES && memcmp(tail[0].data, delimiter, DELIMITER_BYTES) == 0 && !is_echo &&
           signer_verify(signer, &tail[2], 1, &tail[1]);
}

/* The frames of a message, MAX_FRAMES at most. */
struct received {
    size_t n;
    zmq_msg_t parts[MAX_FRAMES];
    bool too_many;
};

static void received_fini(struct received *received) {
    for (size_t i = 0; i < received->n; i++)
        zmq_msg_close(&received->parts[i]);
}

static int receive_part(void *socket, struct received *received, int *ret_more) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    int r = zmq_msg_recv(&part, socket, 0) < 0 ? -errno : 0;
    *ret_more = r == 0 && zmq_msg_more(&part);
    received->too_many |= received->n == MAX_FRAMES;
    if (r == 0 && !received->too_many) {
        zmq_msg_init(&received->parts[received->n]);
        zmq_msg_move(&received->parts[received->n++], &part);
    }
    zmq_msg_close(&part);
    return r;
}

/* Receives one message. 1 for a receipt, 0 for anything else, or -errno. */
static int receive(void *socket, const struct signer *signer, const struct frame *sent) {
    struct received received __attribute__((cleanup(received_fini))) = {0};
    struct frame frames[MAX_FRAMES];
    int r = 0;
    for (int more = 1; more && r == 0;)
        r = receive_part(socket, &received, &more);
    if (r < 0 || received.too_many)
        return r;
    for (size_t i = 0; i < received.n; i++)
        frames[i] = (struct frame){zmq_msg_data(&received.parts[i]), zmq_msg_size(&received.parts[i])};
    return registration_is_receipt(signer, sent, frames, received.n);
}

/* 0, -ETIMEDOUT or another -errno. */
static int await_receipt(void *socket, const struct signer *signer, const struct frame *sent) {
    int64_t deadline_us = clock_us() + RECEIPT_S * CLOCK_S;
    for (int r = 0; r <= 0;) {
        int64_t left_us = deadline_us - clock_us();
        zmq_pollitem_t item = {.socket = socket, .events = ZMQ_POLLIN};
        if (left_us <= 0)
            return -ETIMEDOUT;
        if (zmq_poll(&item, 1, left_us / CLOCK_MS + 1) < 0 && errno != EINTR)
            return -errno;
        r = item.revents & ZMQ_POLLIN ? receive(socket, signer, sent) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int shake_hands(void *socket, const struct signer *signer, const struct connection *connection) {
    const int linger_ms = LINGER_MS, ipv6 = 1;
    const int64_t max_bytes = MAX_BYTES;
    if (zmq_setsockopt(socket, ZMQ_LINGER, &linger_ms, sizeof linger_ms) < 0 ||
        zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes) < 0 ||
        zmq_setsockopt(socket, ZMQ_IPV6, &ipv6, sizeof ipv6) < 0 || zmq_connect(socket, connection->registration) < 0)
        return -errno;
    auto_free char *text = ports_text(connection);
    if (!text)
        return -ENOMEM;
    const struct frame ports = {text, strlen(text)};
    int r = send_ports(socket, signer, &ports);
    return r < 0 ? r : await_receipt(socket, signer, &ports);
}

int registration_announce(const struct channels *channels, const struct connection *connection,
                          struct error *ret_error) {
    if (connection->registration[0] == '\0')
        return 0;
    void *socket = zmq_socket(channels->context, ZMQ_DEALER);
    int r = socket ? shake_hands(socket, channels->signer, connection) : -errno;
    if (socket)
        zmq_close(socket);
    if (r < 0)
        error_set(ret_error, -r, "the kernel's ports could not be registered at %s: %s", connection->registration,
                  zmq_strerror(-r));
    return r;
}
