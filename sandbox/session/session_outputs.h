/*
 * session_outputs.h - what lies between a session's files and the notebook's folder: what cells see of outputs.
 */
#ifndef PETRI_SANDBOX_SESSION_OUTPUTS_H
#define PETRI_SANDBOX_SESSION_OUTPUTS_H

#include "sandbox/files/changes.h"
#include "sandbox/files/outputs.h"

struct session;
struct zygote;

struct session_outputs {
    bool hidden, hidden_first;    /* cells see nothing of them; the same for cells of image 0 */
    bool kept;                    /* cells go on seeing what was there when the session began */
    struct outputs_room room;     /* for that */
    int hides[CHANGES_HIDES + 1]; /* of changes_options; -1 before session_outputs_open() */
};

void session_outputs_init(struct session_outputs *outputs, const struct session_options *options);

/* Opens the layers, once the zygote has made them. 0 or -errno. */
int session_outputs_open(struct session_outputs *outputs, const struct zygote *zygote) MUST_CHECK;
void session_outputs_fini(struct session_outputs *outputs);

/* What cells over a layer (layers.h) have below their base: hides and folder_fd, borrowed of the session, and no base.
 */
struct changes_options session_outputs_below(const struct session *session, uint64_t layer);

/* The layer that has what was there of outputs when the session began. Borrowed. */
int session_outputs_kept(const struct session *session);

#endif
