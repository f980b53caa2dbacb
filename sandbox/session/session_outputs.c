/*
 * session_outputs.c - the layers of outputs.h, by session.
 */
#define _GNU_SOURCE
#include "session_outputs.h"

#include "base/cleanup.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/tree.h"
#include "sandbox/session/session.h"

/* The layers, as an overlay has them: the upper one first. */
enum { EMPTIED, UNSEEN, HIDDEN, LAYERS };
static const char *const names[] = {"kept/emptied", "kept/unseen", "kept/hidden"};

void session_outputs_init(struct session_outputs *outputs, const struct session_options *options) {
    *outputs = (struct session_outputs){.hidden = outputs_are_hidden(options, LAYER_LIVE),
                                        .hidden_first = outputs_are_hidden(options, LAYER_OVER_FIRST),
                                        .room = {options->disk_bytes, options->disk_inodes},
                                        .hides = {-1, -1, -1, -1}};
    outputs->kept = options->outputs && options->host->folder_fd >= 0 && !outputs->hidden;
}

int session_outputs_open(struct session_outputs *outputs, const struct zygote *zygote) {
    int r = 0;
    outputs->kept &= !zygote->view.in_parts; /* the layer for it is not shown then */
    for (size_t i = 0; r == 0 && i < LAYERS; i++)
        r = (outputs->hides[i] = tree_open(zygote->files_fd, names[i])) < 0 ? outputs->hides[i] : 0;
    return r;
}

void session_outputs_fini(struct session_outputs *outputs) {
    for (size_t i = 0; i < LAYERS; i++)
        close_fd(&outputs->hides[i]);
}

struct changes_options session_outputs_below(const struct session *session, uint64_t layer) {
    const struct session_outputs *outputs = &session->outputs_seen;
    const bool hidden = layer & LAYER_OVER_FIRST ? outputs->hidden_first : outputs->hidden;
    return (struct changes_options){
        .base_fd = -1, .hides = &outputs->hides[hidden ? EMPTIED : HIDDEN], .folder_fd = session->folder_fd};
}

int session_outputs_kept(const struct session *session) {
    return session->outputs_seen.hides[HIDDEN];
}

int session_keep_output(struct session *session, const char *path) {
    struct session_outputs *outputs = &session->outputs_seen;
    if (!outputs->kept || outputs->hides[HIDDEN] < 0)
        return 0;
    return outputs_keep_seen(outputs->hides[HIDDEN], session->folder_fd, path, &outputs->room);
}
