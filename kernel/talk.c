#include "talk.h"

#include "kernel/input.h"
#include "kernel/iopub.h"
#include "kernel/kernel.h"
#include "kernel/warm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FRAMES_PER_TURN = 64 };

int talk_send(struct worker_link *link, const json_t *frame, const struct frame *buffers, size_t n_buffers) {
    struct wire_buffer wire_buffers[WIRE_MAX_BUFFERS];
    if (!frame)
        return -ENOMEM;
    if (n_buffers > WIRE_MAX_BUFFERS)
        return -EINVAL;
    for (size_t i = 0; i < n_buffers; i++)
        wire_buffers[i] = (struct wire_buffer){buffers[i].data, buffers[i].bytes};
    return worker_link_send(link, frame, wire_buffers, n_buffers);
}

int talk_ack(struct worker_link *link, const json_t *frame) {
    json_auto_t *ack = json_pack("{s:s, s:O}", "type", "ack", "seq", json_object_get(frame, "seq"));
    return talk_send(link, ack, NULL, 0);
}

static void ack(struct kernel *kernel, const json_t *frame) {
    int r = talk_ack(&kernel->runner.link, frame);
    if (r < 0)
        runner_broken(kernel, strerror(-r));
}

/* What a silent request keeps to itself. */
static const char *const output_types[] = {"stream",         "display_data", "update_display_data",
                                           "execute_result", "error",        "clear_output"};

static bool is_output(const char *msg_type) {
    for (size_t i = 0; i < sizeof output_types / sizeof output_types[0]; i++)
        if (strcmp(msg_type, output_types[i]) == 0)
            return true;
    return false;
}

/* Whose output it is: the running request's, or that of an earlier one whose thread speaks up. */
static const json_t *parent_of(const struct kernel *kernel, const json_t *frame) {
    const json_t *number = json_object_get(frame, "parent");
    const json_t *header = NULL;
    if (json_is_integer(number))
        header = run_parents_find(&kernel->runner.parents, (uint64_t)json_integer_value(number));
    return header ? header : kernel->runner.run->request->message.header;
}

/* Output of a thread, which says whose it is, comes as a message: all of it is within the limit, or none is shown. */
static bool admit_stream(struct kernel *kernel, const char *msg_type, const json_t *content) {
    size_t bytes = json_string_length(json_object_get(content, "text"));
    return strcmp(msg_type, "stream") != 0 || outputs_admit(&kernel->runner.outputs, bytes) == bytes;
}

static size_t buffer_bytes_of(const struct wire_frame *wire) {
    size_t bytes = 0;
    for (size_t i = 0; i < wire->n_buffers; i++)
        bytes += wire->buffers[i].bytes;
    return bytes;
}

/* What of a message's content is within the limits of outputs; NULL for nothing. The caller's. */
static json_t *admit(struct kernel *kernel, const struct wire_frame *wire, const char *msg_type) {
    json_t *content = json_object_get(wire->json, "content");
    if (!admit_stream(kernel, msg_type, content))
        return NULL;
    return displays_take(&kernel->runner.run->displays, msg_type, content, buffer_bytes_of(wire));
}

/* Nothing can stand in the place of a comm's message, and its widget won't work: somebody has to be told. */
static void tell_dropped(struct kernel *kernel, const char *msg_type) {
    struct outputs *outputs = &kernel->runner.outputs;
    char limit[32], line[128];
    if (strncmp(msg_type, "comm_", 5) != 0)
        return;
    limits_text(UNIT_BYTES, kernel->runner.run->limits.values[LIMIT_DISPLAY], limit, sizeof limit);
    int n = snprintf(line, sizeof line, "petri: a %.16s was dropped: it was over the limit of %s (display).\n",
                     msg_type, limit);
    outputs->sink(outputs->arg, "stderr", line, (size_t)n);
}

static void publish(struct kernel *kernel, const struct wire_frame *wire) {
    const char *msg_type = json_string_value(json_object_get(wire->json, "msg_type"));
    json_auto_t *content = admit(kernel, wire, msg_type);
    bool whole = content == json_object_get(wire->json, "content"); /* else it is a text in its place */
    const json_t *parent = parent_of(kernel, wire->json);
    struct frame buffers[WIRE_MAX_BUFFERS];
    if (!content) {
        tell_dropped(kernel, msg_type);
        return;
    }
    if (parent == kernel->runner.run->request->message.header)
        transcript_message(&kernel->runner.run->transcript, msg_type, content, whole ? buffer_bytes_of(wire) : 0);
    comms_note(&kernel->comms, msg_type, content);
    if (flow_drops(kernel)) {
        kernel->runner.run->dropped_bytes += displays_bytes(content);
        return;
    }
    for (size_t i = 0; i < wire->n_buffers; i++)
        buffers[i] = (struct frame){wire->buffers[i].data, wire->buffers[i].bytes};
    iopub_publish_parts(kernel, &(struct message_parts){.msg_type = msg_type,
                                                        .parent = parent,
                                                        .metadata = json_object_get(wire->json, "metadata"),
                                                        .content = content,
                                                        .buffers = buffers,
                                                        .n_buffers = whole ? wire->n_buffers : 0});
}

static void on_publish(struct kernel *kernel, const struct wire_frame *wire) {
    const char *msg_type = json_string_value(json_object_get(wire->json, "msg_type"));
    outputs_drain(&kernel->runner.outputs);
    if (!kernel->runner.run->silent || !is_output(msg_type))
        publish(kernel, wire);
    ack(kernel, wire->json);
}

static void on_sync(struct kernel *kernel, const struct wire_frame *wire) {
    outputs_drain(&kernel->runner.outputs);
    ack(kernel, wire->json);
}

static void on_input(struct kernel *kernel, const struct wire_frame *wire) {
    outputs_drain(&kernel->runner.outputs);
    input_ask(kernel, wire->json);
}

static void on_done(struct kernel *kernel, const struct wire_frame *wire) {
    runner_done(kernel, json_object_get(wire->json, "reply"));
}

static void on_hello(struct kernel *kernel, const struct wire_frame *wire) {
    info_hello(kernel, wire->json);
}

static void on_ready(struct kernel *kernel, const struct wire_frame *wire) {
    (void)wire;
    warm_ready(kernel);
}

typedef void frame_handler(struct kernel *kernel, const struct wire_frame *wire);

/* What may be said when; anything else breaks the wire. */
static frame_handler *const handlers[][WIRE_N_TYPES] = {
    [RUNNER_WARMING] = {[WIRE_HELLO] = on_hello, [WIRE_READY] = on_ready},
    [RUNNER_RUNNING] =
        {[WIRE_PUBLISH] = on_publish, [WIRE_SYNC] = on_sync, [WIRE_INPUT] = on_input, [WIRE_DONE] = on_done},
};

static void broken(struct kernel *kernel, const char *why) {
    if (kernel->runner.state == RUNNER_RUNNING)
        runner_broken(kernel, why);
    else
        warm_failed(kernel, why);
}

/* Whether there may be another frame. */
static bool take_frame(struct kernel *kernel) {
    struct wire_frame frame;
    enum wire_type type;
    const char *why;
    int r = worker_link_next(&kernel->runner.link, &frame, &type, &why);
    if (r < 0)
        broken(kernel, why);
    if (r <= 0)
        return false;
    frame_handler *handler = handlers[kernel->runner.state][type];
    if (handler)
        handler(kernel, &frame);
    else
        broken(kernel, "a frame that is not due");
    wire_frame_fini(&frame);
    return true;
}

void talk_frames(struct kernel *kernel) {
    struct worker_link *link = &kernel->runner.link;
    for (int i = 0; i < FRAMES_PER_TURN; i++)
        if (link->fd < 0 || !worker_link_has_more(link) || flow_holds(kernel) || !take_frame(kernel))
            break;
}
