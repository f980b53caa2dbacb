/*
 * outputs.h - the folder in the notebook's folder that the caller copies files of cells to, as cells see it.
 *
 * What is copied there is for people: cells see what was there when the session began, and strict ones, and those of
 * image 0, nothing of it, or an empty folder where there was one. So a layer over the notebook's folder has a whiteout
 * for each name that comes, and for a file that is replaced what it was.
 */
#ifndef PETRI_SANDBOX_FILES_OUTPUTS_H
#define PETRI_SANDBOX_FILES_OUTPUTS_H

#include "sandbox/sandbox.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether cells over this layer (layers.h) see nothing of the folder at all. */
bool outputs_are_hidden(const struct session_options *options, uint64_t layer);

/* The session begins. files_fd is where layers are, folder_fd the notebook's folder. 0 or -errno. */
int outputs_hide(const struct session_options *options, int files_fd, int folder_fd) MUST_CHECK;

/* What cells go on seeing may take: it is copied. */
struct outputs_room {
    uint64_t bytes, names;
};

/*
 * Something is about to appear at path, which is below the notebook's folder, or to be replaced: from now on layer_fd
 * has there what folder_fd, that folder, has now. A file that there is no room for is not seen any more. 0; -EDQUOT
 * where there is no room for a name; or -errno. Blocks for as long as it takes to copy a file.
 */
int outputs_keep_seen(int layer_fd, int folder_fd, const char *path, struct outputs_room *room) MUST_CHECK;

#endif
