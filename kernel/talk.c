#include "talk.h"

#include "kernel/input.h"
#include "kernel/iopub.h"
#include "kernel/kernel.h"
#include "kernel/published.h"
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

/* Whose message it is: the running request's own, or that of something an earlier one has started. */
struct origin {
    bool earlier;
    const json_t *header; /* of that request, where its cell stands; else NULL: nothing can go under it */
};

/* A fresh run has nothing of earlier cells in it. */
static struct origin origin_of(const struct kernel *kernel, const json_t *frame) {
    const struct run *run = kernel->runner.run;
    const json_t *parent = json_object_get(frame, "parent");
    uint64_t number = json_is_integer(parent) ? (uint64_t)json_integer_value(parent) : run->number;
    if (number == run->number)
        return (struct origin){0};
    return (struct origin){true, run->ask.fresh ? NULL : run_parents_find(&kernel->runner.parents, number)};
}

static void tell(struct kernel *kernel, const char *line) {
    struct outputs *outputs = &kernel->runner.outputs;
    if (line[0])
        outputs->sink(outputs->arg, "stderr", line, strlen(line));
}

/* Output of a thread, which says whose it is, comes as a message: all of it is within the limit, or none is shown. */
static bool admit_stream(struct kernel *kernel, const struct published *message) {
    size_t bytes = json_string_length(json_object_get(message->content, "text"));
    kernel->runner.run->dropped_bytes += message->dropped_bytes;
    return bytes > 0 && outputs_admit(&kernel->runner.outputs, bytes) == bytes;
}

/* Whether a message is within the limits of outputs, if need be with another content. */
static bool admit(struct kernel *kernel, struct published *message) {
    struct displays *displays = &kernel->runner.run->displays;
    char note[256];
    if (strcmp(message->kind->msg_type, "stream") == 0)
        return admit_stream(kernel, message);
    bool admitted = displays_admit(displays, message, note, sizeof note);
    if (admitted && !comms_note(&kernel->comms, message->kind->msg_type, message->content)) {
        displays->dropped_bytes += message->bytes;
        admitted = false;
        snprintf(note, sizeof note, "petri: a comm_open was dropped: %d comms are open.\n", COMMS_MAX);
        note[kernel->comms.told ? 0 : strlen(note)] = '\0';
        kernel->comms.told = true;
    }
    tell(kernel, note);
    return admitted;
}

/*
 * A later cell adds to what stands under an earlier one, as threads do; it does
 * nothing else there. What clears is dropped; the rest goes under the cell that
 * runs: a display is updated by its name, a comm's message found by its comm.
 */
static void publish_message(struct kernel *kernel, const struct origin *origin, struct published *message) {
    struct run *run = kernel->runner.run;
    const json_t *own = run->request->message.header;
    if (origin->earlier && strcmp(message->kind->msg_type, "clear_output") == 0) {
        run->dropped_bytes += message->bytes + message->dropped_bytes;
        return;
    }
    if (!admit(kernel, message))
        return;
    struct message_parts parts = published_parts(message);
    parts.parent = origin->header && message->kind->adds ? origin->header : own;
    if (parts.parent == own)
        transcript_message(&run->transcript, message->kind->msg_type, message->content, message->content_bytes,
                           parts.n_buffers > 0);
    if (flow_drops(kernel)) {
        run->dropped_bytes += message->bytes;
        return;
    }
    if (parts.parent == own)
        captures_note(run, message->kind->msg_type, message->content);
    iopub_publish_parts(kernel, &parts);
}

static void publish(struct kernel *kernel, const struct wire_frame *wire) {
    struct published message;
    if (published_take(wire, &message) < 0) {
        log_write(&kernel->log, LOG_LEVEL_ERROR, "a message of a cell is lost: no memory");
        return;
    }
    const struct origin origin = origin_of(kernel, wire->json);
    publish_message(kernel, &origin, &message);
    published_fini(&message);
}

static void on_publish(struct kernel *kernel, const struct wire_frame *wire) {
    const struct published_kind *kind = published_kind(json_string_value(json_object_get(wire->json, "msg_type")));
    outputs_drain(&kernel->runner.outputs);
    if (!kernel->runner.run->silent || !kind->is_output)
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
