/*
 * replay.h - compares a recorded run with another one.
 */
#ifndef PETRI_REPLAY_H
#define PETRI_REPLAY_H

#include "kernel/records/redact.h"

#include <jansson.h>

/* The members of a run that are compared, from a record or from a new run. */
struct replay_side {
    const json_t *report;
    json_t *stdout_text; /* redacted; owned, as all below */
    json_t *stderr_text;
    json_t *result;      /* text/plain of its value, or null */
    json_t *displays;    /* array of data */
    json_t *environment; /* an object, or NULL where it is not known */
};

/* The side of a record from records_find(), which is borrowed. */
void replay_of_record(const json_t *record, struct replay_side *ret_side);

/* The side of a report from client_run(), which is borrowed; redaction is what the record was redacted with. */
void replay_of_report(const json_t *report, const struct redaction *redaction, struct replay_side *ret_side);
void replay_side_fini(struct replay_side *side);

/* [{"what": "stdout", "before": ..., "after": ...}, {"what": "package", "name": "numpy", ...}]: empty where nothing
 * differs. The caller's. */
json_t *replay_compare(const struct replay_side *before, const struct replay_side *after);

#endif
