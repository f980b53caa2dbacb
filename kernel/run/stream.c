/*
 * stream.c - stream messages, and the transcript's part of them.
 *
 * All text of a run comes through here, whoever has written it, so captures and
 * backpressure hold for a line of petri's, too.
 */

#include "stream.h"

#include "kernel/jupyter/backpressure.h"
#include "kernel/jupyter/iopub.h"
#include "kernel/jupyter/jupyter.h"
#include "kernel/run/runner.h"

void stream_text(void *arg, const char *name, const char *data, size_t bytes) {
    struct run *run = arg;
    struct jupyter *jupyter = run->runner->jupyter;
    transcript_stream(&run->result.transcript, name, data, bytes);
    if (backpressure_drops(&jupyter->backpressure))
        run->result.dropped_bytes += bytes;
    else if (!run->asked.silent) {
        captures_note(&run->now.captures, run->request->message.header, "stream", NULL);
        iopub_stream(jupyter, run->request->message.header, name, data, bytes);
    }
}

void stream_tell(struct run *run, const char *line, size_t bytes) {
    if (bytes > 0)
        stream_text(run, "stderr", line, bytes);
}
