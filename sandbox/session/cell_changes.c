/*
 * cell_changes.c - what a cell has changed of the notebook's folder, and what was there before it.
 *
 * Both are read from outside, below the overlay: what lies over the folder is a
 * layer of the cell's, or the live files. That holds only when nothing of the
 * cell runs any more, so all of it is for cells that are frozen or dead.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/files/changes.h"
#include "sandbox/files/layers.h"
#include "sandbox/files/tree.h"
#include "sandbox/session/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

/* What lies over the notebook's folder. A descriptor or -errno. */
static int open_folder_of(const struct cell *cell, const char *files) {
    char path[LAYER_NAME_SIZE + 16];
    snprintf(path, sizeof path, "%s/folder", files);
    return tree_open(cell->session->zygote.files_fd, path);
}

static int open_upper(const struct cell *cell) {
    char name[LAYER_NAME_SIZE] = "live/files";
    if (cell->layer != LAYER_LIVE)
        layer_name(cell->layer, name);
    return open_folder_of(cell, name);
}

static int open_base(const struct cell *cell) {
    char name[LAYER_NAME_SIZE];
    layer_base(cell->layer, name);
    return open_folder_of(cell, name);
}

static int list(const struct cell *cell, struct changes_options options, cell_change_handler *handler, void *arg) {
    auto_fd upper_fd = open_upper(cell);
    auto_fd base_fd = upper_fd < 0 ? upper_fd : open_base(cell);
    if (base_fd < 0)
        return base_fd;
    const struct changes_options below = session_outputs_below(cell->session, cell->layer);
    options.upper_fd = upper_fd;
    options.base_fd = base_fd;
    options.hides = below.hides;
    options.folder_fd = below.folder_fd;
    options.live = cell->layer == LAYER_LIVE;
    options.snapshot = options.live ? cell->session->files.snapshot : NULL;
    return changes_list(&options, handler, arg);
}

int cell_list_names(const struct cell *cell, cell_change_handler *handler, void *arg) {
    return list(cell, (struct changes_options){.names_only = true}, handler, arg);
}

int cell_list_changes(const struct cell *cell, enum cell_listing what, cell_change_handler *handler, void *arg) {
    const struct changes_options options = {.folders = what == CELL_FILES_AND_FOLDERS};
    return cell->result ? list(cell, options, handler, arg) : -EINVAL;
}

int cell_open_change(const struct cell *cell, const char *path) {
    struct stat st;
    if (!cell->result)
        return -EINVAL;
    auto_fd upper_fd = open_upper(cell);
    if (upper_fd < 0)
        return upper_fd;
    auto_fd fd = system_open_beneath(upper_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_NOATIME, 0);
    if (fd < 0)
        return fd;
    if (fstat(fd, &st))
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    const bool guarded = cell->layer == LAYER_LIVE && snapshot_is_guarded(cell->session->files.snapshot, st.st_ino);
    return st.st_nlink != 1U + guarded ? -EMLINK : steal_fd(&fd);
}

int cell_open_before(const struct cell *cell, const char *path) {
    auto_fd base_fd = open_base(cell);
    struct changes_options before = session_outputs_below(cell->session, cell->layer);
    before.base_fd = base_fd;
    return base_fd < 0 ? base_fd : changes_open_before(&before, path);
}
