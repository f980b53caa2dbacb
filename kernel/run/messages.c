/*
 * messages.c - messages of a cell, checked against its limits before they are published.
 *
 * Pipes are drained before each message, so that what was printed first is shown
 * first; only then it is acknowledged. Limits are counted before backpressure
 * drops anything: what is dropped counts too. Messages with an earlier request as
 * their parent are not in this run's transcript.
 *
 * See: docs/worker-wire.md; Jupyter messaging, "Messages on the IOPub (PUB/SUB)
 * channel".
 */

#include "messages.h"

#include "kernel/jupyter/backpressure.h"
#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/input.h"
#include "kernel/run/runner.h"
#include "kernel/run/watchdog.h"
#include "kernel/worker/published.h"

#include <stdio.h>
#include <string.h>

/* The request that a message belongs to: the running one, or an earlier one that has started a thread. */
struct origin {
    bool earlier;
    const json_t *header; /* of that request, if its cell was committed; else NULL, and nothing can be its child */
};

/* Threads of earlier cells are not part of a fresh run. */
static struct origin origin_of(const struct runner *runner, const json_t *frame) {
    const struct run *run = runner->run;
    const json_t *parent = json_object_get(frame, "parent");
    uint64_t number = json_is_integer(parent) ? (uint64_t)json_integer_value(parent) : run->number;
    if (number == run->number)
        return (struct origin){0};
    return (struct origin){true, run->asked.spec.fresh ? NULL : run_parents_find(&runner->parents, number)};
}

static void tell_reader(struct runner *runner, const char *line) {
    struct outputs *outputs = &runner->outputs;
    if (line[0])
        outputs->sink(outputs->arg, "stderr", line, strlen(line));
}

/* Output of a thread with a parent of its own comes as a message: it is shown if all of it is within the limit. */
static bool admit_stream(struct runner *runner, const struct published *message) {
    size_t bytes = json_string_length(json_object_get(message->content, "text"));
    runner->run->result.dropped_bytes += message->dropped_bytes;
    return bytes > 0 && outputs_admit(&runner->outputs, bytes) == bytes;
}

/* Whether a message is within the limits of outputs, if need be with another content. */
static bool admit(struct runner *runner, struct published *message) {
    struct displays *displays = &runner->run->now.displays;
    char note[256];
    if (strcmp(message->kind->msg_type, "stream") == 0)
        return admit_stream(runner, message);
    bool admitted = displays_admit(displays, message, note, sizeof note);
    if (admitted && !comms_note(runner->comms, message->kind->msg_type, message->content)) {
        displays->dropped_bytes += message->bytes;
        admitted = false;
        snprintf(note, sizeof note, "petri: a comm_open was dropped: %d comms are open.\n", COMMS_MAX);
        note[runner->comms->told ? 0 : strlen(note)] = '\0';
        runner->comms->told = true;
    }
    tell_reader(runner, note);
    return admitted;
}

/*
 * Under an earlier cell output may be added, as threads do, and nothing else
 * done. clear_output is dropped; other messages get the running request as their
 * parent: a display is updated by its id, a comm's message is found by its comm.
 */
static void publish_message(struct runner *runner, const struct origin *origin, struct published *message) {
    struct run *run = runner->run;
    const json_t *own = run->request->message.header;
    if (origin->earlier && strcmp(message->kind->msg_type, "clear_output") == 0) {
        run->result.dropped_bytes += message->bytes + message->dropped_bytes;
        return;
    }
    if (!admit(runner, message))
        return;
    struct message_parts parts = published_parts(message);
    parts.parent = origin->header && message->kind->adds ? origin->header : own;
    if (parts.parent == own)
        transcript_message(&run->result.transcript, message->kind->msg_type, message->content, message->content_bytes,
                           parts.n_buffers > 0);
    if (backpressure_drops(&runner->jupyter->backpressure)) {
        run->result.dropped_bytes += message->bytes;
        return;
    }
    if (parts.parent == own)
        captures_note(&run->now.captures, own, message->kind->msg_type, message->content);
    iopub_publish_parts(runner->jupyter, &parts);
}

static void publish(struct runner *runner, const struct wire_frame *wire) {
    struct published message;
    if (published_take(wire, &message) < 0) {
        log_write(runner->log, LOG_LEVEL_ERROR, "a message of a cell is lost: no memory");
        return;
    }
    const struct origin origin = origin_of(runner, wire->json);
    publish_message(runner, &origin, &message);
    published_fini(&message);
}

static const char *on_publish(struct runner *runner, const struct wire_frame *wire) {
    const struct published_kind *kind = published_kind(json_string_value(json_object_get(wire->json, "msg_type")));
    outputs_drain(&runner->outputs);
    if (!runner->run->asked.silent || !kind->is_output)
        publish(runner, wire);
    exchange_acknowledge(&runner->exchange, wire->json);
    return NULL;
}

static const char *on_sync(struct runner *runner, const struct wire_frame *wire) {
    outputs_drain(&runner->outputs);
    exchange_acknowledge(&runner->exchange, wire->json);
    return NULL;
}

static const char *on_input(struct runner *runner, const struct wire_frame *wire) {
    outputs_drain(&runner->outputs);
    return input_ask(runner, wire->json);
}

/* What the cell of a request may say; anything else breaks the wire. */
static const char *(*const handlers[WIRE_N_TYPES])(struct runner *runner, const struct wire_frame *wire) = {
    [WIRE_PUBLISH] = on_publish,
    [WIRE_SYNC] = on_sync,
    [WIRE_INPUT] = on_input,
};

static const char *handle_cell_frame(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame) {
    return handlers[type] ? handlers[type](exchange->arg, frame) : "a frame of this type may not come now";
}

static bool is_held_back(const struct exchange *exchange) {
    const struct runner *runner = exchange->arg;
    return backpressure_holds(&runner->jupyter->backpressure);
}

static void measured(struct exchange *exchange, int64_t now_us) {
    watchdog_measured(exchange->arg, now_us);
}

const struct exchange_calls messages_calls = {.frame = handle_cell_frame, .holds = is_held_back, .measured = measured};
