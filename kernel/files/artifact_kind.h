/*
 * artifact_kind.h - which of the files that a cell leaves in a folder may be copied to the host.
 */
#ifndef PETRI_ARTIFACT_KIND_H
#define PETRI_ARTIFACT_KIND_H

#include "sandbox/sandbox.h"

#include <stdbool.h>
#include <stddef.h>

/* The word of the report for what a cell has done to a file: "created". Static. */
const char *artifact_action(enum cell_change change);

/*
 * Whether a file is not copied to the host because of its path, its type and mode
 * (stat(2)) or the number of its hard links. Then ret_why gets the reason as a
 * clause ("it is a link"), cut to size bytes.
 */
bool artifact_is_refused(const char *path, unsigned mode, unsigned links, char *ret_why, size_t size);

/* The same of its path alone. */
bool artifact_path_is_refused(const char *path, char *ret_why, size_t size);

#endif
