/*
 * messages.c - publishes a cell's messages, after they have been checked against its limits.
 *
 * The pipes are drained before each message, so that text printed before a
 * message is shown before it; the message is acknowledged last. Messages count
 * against the limits even if backpressure drops them. Messages that are published
 * under an earlier cell are not in this run's transcript.
 *
 * See: docs/worker-wire.md; Jupyter messaging, "Messages on the IOPub (PUB/SUB)
 * channel".
 */

#include "messages.h"

#include "kernel/jupyter/backpressure.h"
#include "kernel/jupyter/comms.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/accounts.h"
#include "kernel/run/input.h"
#include "kernel/run/runner.h"
#include "kernel/run/stream.h"
#include "kernel/run/watchdog.h"
#include "kernel/worker/published.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Which cell a message belongs to: the running one, or an earlier one whose task still writes. */
struct origin {
    bool earlier;
    const json_t *header; /* of the earlier request; NULL where its cell is not part of the session: nothing is
                             published under it */
};

/* In a fresh run there are no tasks of earlier cells. */
static struct origin origin_of(const struct run *run, const json_t *frame) {
    const json_t *parent = json_object_get(frame, "parent");
    uint64_t number = json_is_integer(parent) ? (uint64_t)json_integer_value(parent) : run->number;
    if (number == run->number)
        return (struct origin){0};
    return (struct origin){true, run->beside ? NULL : run_parents_find(&run->runner->parents, number)};
}

/*
 * Output of an earlier cell's task comes as a message. It is shown as a
 * whole or, where it is over the limit, not at all.
 */
static bool admit_stream(struct run *run, const struct published *message) {
    size_t bytes = json_string_length(json_object_get(message->content, "text"));
    run->result.dropped_bytes += message->dropped_bytes;
    return bytes > 0 && outputs_admit(&run->now.outputs, bytes) == bytes;
}

/* Whether a message is within the limits of outputs. Its content may be replaced by a note to make it fit. */
static bool admit(struct run *run, struct published *message) {
    struct comms *comms = run->comms;
    struct displays *displays = &run->now.displays;
    char note[256];
    if (strcmp(message->kind->msg_type, "stream") == 0)
        return admit_stream(run, message);
    bool admitted = displays_admit(displays, message, note, sizeof note);
    if (admitted && !comms_note(comms, message->kind->msg_type, message->content)) {
        displays->dropped_bytes += message->bytes;
        admitted = false;
        snprintf(note, sizeof note, "petri: a comm_open was dropped: %d comms are open.\n", COMMS_MAX);
        note[comms->told ? 0 : strlen(note)] = '\0';
        comms->told = true;
    }
    stream_tell(run, note, strlen(note));
    return admitted;
}

/*
 * What an earlier cell's task shows, updates and clears is published under that cell; results, errors and comms'
 * messages under the running one. If the earlier cell is not part of the session, all of it goes under the running
 * one, except a clear_output, which would clear another cell's output.
 */
static void publish_message(struct run *run, const struct origin *origin, struct published *message) {
    struct jupyter *jupyter = run->runner->jupyter;
    const json_t *own = run->request->message.header;
    if (origin->earlier && !origin->header && strcmp(message->kind->msg_type, "clear_output") == 0) {
        run->result.dropped_bytes += message->bytes + message->dropped_bytes;
        return;
    }
    if (!admit(run, message))
        return;
    struct message_parts parts = published_parts(message);
    parts.parent = origin->header && message->kind->is_late ? origin->header : own;
    if (parts.parent == own)
        transcript_message(&run->result.transcript, message->kind->msg_type, message->content, message->content_bytes,
                           parts.n_buffers > 0);
    if (backpressure_drops(&jupyter->backpressure)) {
        run->result.dropped_bytes += message->bytes;
        return;
    }
    if (parts.parent == own)
        captures_note(&run->now.captures, own, message->kind->msg_type, message->content);
    iopub_publish_parts(jupyter, &parts);
}

static void publish(struct run *run, const struct wire_frame *wire) {
    struct published message;
    if (published_take(wire, &message) < 0) {
        log_write(run->runner->log, LOG_LEVEL_ERROR, "a message of a cell is lost: no memory");
        return;
    }
    const struct origin origin = origin_of(run, wire->json);
    publish_message(run, &origin, &message);
    published_fini(&message);
}

static const char *on_publish(struct run *run, const struct wire_frame *wire) {
    const struct published_kind *kind = published_kind(json_string_value(json_object_get(wire->json, "msg_type")));
    outputs_drain(&run->now.outputs);
    if (!run->asked.silent || !kind->is_output)
        publish(run, wire);
    exchange_acknowledge(&run->now.exchange, wire->json);
    return NULL;
}

static const char *on_sync(struct run *run, const struct wire_frame *wire) {
    outputs_drain(&run->now.outputs);
    exchange_acknowledge(&run->now.exchange, wire->json);
    return NULL;
}

static const char *on_input(struct run *run, const struct wire_frame *wire) {
    outputs_drain(&run->now.outputs);
    return input_ask(run, wire->json);
}

/* It is believed, as it can only take more out of what is stored. A cell with one that can't be noted is undone. */
static const char *on_variable(struct run *run, const struct wire_frame *wire) {
    const json_t *value = json_object_get(wire->json, "value");
    const int r = variables_add(&run->runner->accounts->variables, VARIABLE_TOLD, run->number,
                                json_string_value(json_object_get(wire->json, "name")), json_string_value(value),
                                json_string_length(value));
    if (r == -ENOSPC) {
        snprintf(run->result.facts.detail, sizeof run->result.facts.detail,
                 "set more variables with %%env than petri can keep out of its records (%d values or %d MiB)",
                 VARIABLES_MAX, VARIABLES_BYTES_MAX >> 20);
        return "too many variables";
    }
    return r == -ENOMEM ? "there is no memory for the value of a variable" : NULL;
}

/* The frames that a cell may send; any other one breaks the wire. */
static const char *(*const handlers[WIRE_N_TYPES])(struct run *run, const struct wire_frame *wire) = {
    [WIRE_PUBLISH] = on_publish,
    [WIRE_SYNC] = on_sync,
    [WIRE_INPUT] = on_input,
    [WIRE_VARIABLE] = on_variable,
};

static const char *handle_cell_frame(struct exchange *exchange, enum wire_type type, const struct wire_frame *frame) {
    return handlers[type] ? handlers[type](exchange->arg, frame) : "a frame of this type may not come now";
}

static bool is_held_back(const struct exchange *exchange) {
    const struct run *run = exchange->arg;
    return backpressure_holds(&run->runner->jupyter->backpressure);
}

static void measured(struct exchange *exchange, int64_t now_us) {
    watchdog_measured(exchange->arg, now_us);
}

const struct exchange_calls messages_calls = {.frame = handle_cell_frame, .holds = is_held_back, .measured = measured};
