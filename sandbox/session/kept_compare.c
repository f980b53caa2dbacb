/*
 * kept_compare.c - what differs between the files of two kept images: their versions are compared, both of which have
 * folders of their own meanwhile.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/files/changes.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/tree.h"
#include "sandbox/session/kept.h"
#include "sandbox/session/session.h"

#include <inttypes.h>
#include <stdio.h>

static int open_folder(const struct session *session, uint64_t version) {
    char path[LAYER_NAME_SIZE];
    snprintf(path, sizeof path, "%" PRIu64 "/folder", version);
    return tree_open(session->files.folders.versions, path);
}

static int compare(const struct session *session, uint64_t before, uint64_t after, cell_change_handler *handler,
                   void *arg) {
    auto_fd base_fd = open_folder(session, before);
    auto_fd upper_fd = base_fd < 0 ? base_fd : open_folder(session, after);
    struct changes_options options = session_outputs_below(session, LAYER_LIVE);
    options.upper_fd = upper_fd;
    options.base_fd = base_fd;
    options.live = true;
    return upper_fd < 0 ? upper_fd : changes_list(&options, handler, arg);
}

int session_compare_files(struct session *session, struct kept_image *before, struct kept_image *after,
                          cell_change_handler *handler, void *arg) {
    uint64_t one, other;
    int r = snapshot_pin(before->files, &one);
    if (r)
        return r;
    r = snapshot_pin(after->files, &other);
    if (r == 0) {
        r = compare(session, one, other, handler, arg);
        snapshot_unpin(after->files);
    }
    snapshot_unpin(before->files);
    return r;
}
