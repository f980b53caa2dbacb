/*
 * transcript.h - a bounded copy of a run's outputs, in their order.
 *
 * It is made while a cell runs, and used after the cell's end, by checks and run
 * records. A row has the format of a notebook's file:
 *
 *     {"output_type": "stream", "name": "stdout", "text": "..."}
 *     {"output_type": "display_data" | "execute_result" | "error", "data": {...}, "metadata": {...}, ...}
 *
 * The first TRANSCRIPT_STREAM_BYTES of each stream are kept, the rich outputs
 * that fit into TRANSCRIPT_RICH_BYTES and TRANSCRIPT_VALUES, and at most
 * TRANSCRIPT_ROWS rows, because even a short row takes hundreds of bytes. See:
 * nbformat, "Code cell outputs".
 */
#ifndef PETRI_TRANSCRIPT_H
#define PETRI_TRANSCRIPT_H

#include "kernel/worker/outputs.h"

#include <jansson.h>

enum {
    TRANSCRIPT_STREAM_BYTES = 1 << 20, /* of stdout, and of stderr */
    TRANSCRIPT_RICH_BYTES = 4 << 20,   /* of all rich outputs together, as they are sent */
    TRANSCRIPT_VALUES = 1 << 18,       /* of JSON in them */
    TRANSCRIPT_ROWS = 10000,
};

/* All zero is empty. */
struct transcript {
    json_t *outputs; /* array of rows, owned; NULL while empty */
    json_t *result;  /* `data` of the last execute_result, owned; NULL where there was none or it was not kept */
    size_t kept_bytes[OUTPUT_N];
    size_t rich_bytes; /* of the rich outputs that are kept */
    size_t values;     /* JSON values in them */
    bool cut;          /* something was not kept: outputs is not complete */
    bool result_cut;   /* the last execute_result was not kept */
};

void transcript_fini(struct transcript *transcript);

/* Adds output of a stream; name is "stdout" or "stderr". */
void transcript_stream(struct transcript *transcript, const char *name, const char *data, size_t bytes);

/*
 * Adds a message that is published on iopub; ignores those that are not outputs.
 * content is borrowed; its values are kept by reference, so they must not be
 * changed later. content_bytes: its size as it is sent. has_buffers: the message
 * has buffers, which are not kept.
 */
void transcript_message(struct transcript *transcript, const char *msg_type, json_t *content, size_t content_bytes,
                        bool has_buffers);

/* The kept text of one stream as a JSON string, which is the caller's; NULL on ENOMEM. */
json_t *transcript_text(const struct transcript *transcript, enum output output);

#endif
