/*
 * iopub.c - publishes messages under a topic that names their type, and welcomes each new subscriber.
 *
 * A message that can't be sent is logged. After the first welcome, the requests
 * that have waited for a subscriber are read.
 */

#include "iopub.h"

#include "kernel/base/clock.h"
#include "kernel/jupyter/jupyter.h"
#include "protocol/text.h"

#include <stdio.h>
#include <string.h>
#include <zmq.h>

enum {
    MAX_TOPIC = 255,
    READ_PER_TURN = 4096,
    WELCOMES_PER_TURN = 64,
    AWAIT_MS = 200, /* libzmq tries again to connect every 100 ms */
};

static void check_sent(struct jupyter *jupyter, const char *msg_type, int r) {
    if (r < 0)
        log_write(jupyter->log, LOG_LEVEL_ERROR, "a %s message is lost: %s", msg_type, zmq_strerror(-r));
}

/* The first frame of a published message, by which a client may subscribe. */
static struct frame topic_of(const struct jupyter *jupyter, const char *msg_type, char *buf, size_t size) {
    snprintf(buf, size, "kernel.%s.%s", jupyter->channels.session_id, msg_type);
    return (struct frame){buf, strlen(buf)};
}

void iopub_publish_parts(struct jupyter *jupyter, struct message_parts *parts) {
    char text[128];
    struct frame topic = topic_of(jupyter, parts->msg_type, text, sizeof text);
    parts->identities = &topic;
    parts->n_identities = 1;
    check_sent(jupyter, parts->msg_type, channels_send(&jupyter->channels, CHANNEL_IOPUB, parts));
}

void iopub_publish(struct jupyter *jupyter, const json_t *parent, const char *msg_type, json_t *content) {
    iopub_publish_parts(jupyter, &(struct message_parts){.msg_type = msg_type, .parent = parent, .content = content});
    json_decref(content);
}

void iopub_status(struct jupyter *jupyter, const json_t *parent, const char *state) {
    iopub_publish(jupyter, parent, "status", json_pack("{s:s}", "execution_state", state));
}

void iopub_stream(struct jupyter *jupyter, const json_t *parent, const char *name, const char *data, size_t bytes) {
    char text[128];
    struct frame topic = topic_of(jupyter, "stream", text, sizeof text);
    struct message_parts parts = {.identities = &topic, .n_identities = 1, .msg_type = "stream", .parent = parent};
    check_sent(jupyter, "stream", channels_send_stream(&jupyter->channels, &parts, name, data, bytes));
}

void iopub_await_subscriber(struct jupyter *jupyter) {
    jupyter->hold_requests_until_us = clock_us() + AWAIT_MS * CLOCK_MS;
}

static void welcome(struct jupyter *jupyter, const char *subscription, size_t bytes) {
    jupyter->hold_requests_until_us = 0;
    struct frame topic = {subscription + 1, bytes - 1};
    json_auto_t *content = json_pack("{s:o}", "subscription", text_to_json(topic.data, topic.bytes));
    struct message_parts parts = {
        .identities = &topic, .n_identities = 1, .msg_type = "iopub_welcome", .content = content};
    check_sent(jupyter, "iopub_welcome", channels_send(&jupyter->channels, CHANNEL_IOPUB, &parts));
}

/*
 * A subscription is the byte 1 and its topic. The byte 0, an unsubscription, gets
 * no answer. libzmq's queue of both is unbounded, so many are read in each turn;
 * if there are more than WELCOMES_PER_TURN, not all get a welcome.
 */
void iopub_serve(void *arg, short events) {
    struct jupyter *jupyter = arg;
    char subscription[1 + MAX_TOPIC];
    (void)events;
    for (int i = 0, welcomed = 0; i < READ_PER_TURN; i++) {
        int n = zmq_recv(jupyter->channels.sockets[CHANNEL_IOPUB], subscription, sizeof subscription, ZMQ_DONTWAIT);
        if (n < 0)
            break;
        bool is_subscription = n > 0 && (size_t)n <= sizeof subscription && subscription[0] == 1;
        if (is_subscription && welcomed++ < WELCOMES_PER_TURN)
            welcome(jupyter, subscription, (size_t)n);
    }
}
