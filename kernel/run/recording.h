/*
 * recording.h - makes and stores the record of a run, with secrets redacted.
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
    RECORDING_INPUT_BYTES = 16 << 20,  /* of a run's files; of files beyond it only the digest is stored */
    RECORDING_MESSAGE_BYTES = 1 << 20, /* of a message's content */
};

/*
 * Stores a run with its report, before its reply is sent, and returns whether it
 * is stored. A silent run is not stored. A run that is not stored is counted for
 * its task for as long as the kernel lives (budget_count()). cache_key: the
 * result of cache_key().
 */
bool recording_store(struct accounts *accounts, const struct run *run, const json_t *report, const char *cache_key);

#endif
