/*
 * recording.h - a run becomes a record: what is kept of it, redacted.
 *
 * The record, as `petri show --json` gives it:
 *
 *     {"report": {...}, "code": "...", "execution_count": 3, "follows": runs of the session before it,
 *      "request": metadata.petri without the files' content, "files": [{"path", "bytes", "sha256", "kept"}],
 *      "message": {"msg_type", "bytes", "content", "buffers"} where the request has no code: what it has instead,
 *                 content where it is small enough, buffers as their number,
 *      "folder": the notebook's,
 *      "outputs": [nbformat's rows], "outputs_complete": false where some were over the transcript's caps,
 *      "redacted": {"code": pieces taken out of it, "request": n, "files": n, "outputs": n, "report": n, "message": n},
 *      "environment": {...} fingerprint.h}
 */
#ifndef PETRI_RECORDING_H
#define PETRI_RECORDING_H

#include "kernel/run/run.h"

struct accounts;

enum {
    RECORDING_INPUT_BYTES = 16 << 20,  /* of a run's files; those that would be over it are kept by their digest */
    RECORDING_MESSAGE_BYTES = 1 << 20, /* of a message's content */
};

/*
 * Stores a run with its report, before its reply goes out: whether it is
 * stored. A silent run is not. Also counts it for its task, where it is not
 * stored for as long as the kernel lives. cache_key: "" or what cache.h gives.
 */
bool recording_store(struct accounts *accounts, const struct run *run, const json_t *report, const char *cache_key);

#endif
