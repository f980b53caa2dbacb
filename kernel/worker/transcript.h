/*
 * transcript.h - a bounded copy of what a run put out, in its order.
 *
 * Kept while a cell runs, for the checks of what was expected and for run
 * records. A row is as in a notebook's file:
 *
 *     {"output_type": "stream", "name": "stdout", "text": "..."}
 *     {"output_type": "display_data" | "execute_result" | "error", "data": {...}, "metadata": {...}, ...}
 *
 * Of each stream the first TRANSCRIPT_STREAM_BYTES are kept, of rich outputs
 * those that fit into TRANSCRIPT_RICH_BYTES and TRANSCRIPT_VALUES, and of all
 * no more than TRANSCRIPT_ROWS: a row takes hundreds of bytes, however short. See: nbformat, "Code cell outputs".
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

/* All zero is a run that has put out nothing. */
struct transcript {
    json_t *outputs; /* array of rows, owned; NULL while empty */
    json_t *result;  /* `data` of the last execute_result, owned; NULL where there was none or it was not kept */
    size_t kept_bytes[OUTPUT_N];
    size_t rich_bytes; /* kept */
    size_t values;     /* in them */
    bool cut;          /* something was not kept: outputs is incomplete */
    bool result_cut;   /* the last execute_result was not */
};

void transcript_fini(struct transcript *transcript);

/* Output on its way to a stream message; name is "stdout" or "stderr". */
void transcript_stream(struct transcript *transcript, const char *name, const char *data, size_t bytes);

/*
 * A message on its way to iopub; those that are no output are passed over.
 * content is borrowed; its parts are kept by reference, so they must not be
 * changed afterwards. content_bytes: of it as it is sent. has_buffers: the
 * message has something beside its content, which is not kept.
 */
void transcript_message(struct transcript *transcript, const char *msg_type, json_t *content, size_t content_bytes,
                        bool has_buffers);

/* What was kept of one stream as one JSON string, which is the caller's; NULL on ENOMEM. */
json_t *transcript_text(const struct transcript *transcript, enum output output);

#endif
