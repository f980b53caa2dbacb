/*
 * open_files.h - the files and folders of an image: opened anew for each cell, on their paths as it sees them.
 *
 * So a cell has open files of its own, with the flags and offsets that they
 * had. One that its owner may not
 * open (its mode was changed after it was opened) is made to be for a moment. What has no path any more (a temporary
 * file that is unlinked) is opened by its descriptor; its contents are those
 * of shared.h. A file that can't be opened so stays shared, and is marked; of a
 * folder, or of what is only a path, nothing is left but the number.
 *
 * See: open(2), proc_pid_fd(5).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_OPEN_FILES_H
#define PETRI_SANDBOX_DESCRIPTORS_OPEN_FILES_H

#include "base/cleanup.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"

/* Tells a file or folder, or what is only a path (O_PATH), by its link. 0, -ENOTSUP as descriptors_refuse(), or
 * -ENOMEM.
 */
int open_files_tell(const struct descriptors_source *source, const char *link,
                    struct descriptor *descriptor) MUST_CHECK;

int open_files_restore(struct descriptors *list, struct restorer *restorer) MUST_CHECK;
int open_files_restore_unnamed(struct descriptors *list, struct restorer *restorer) MUST_CHECK;

#endif
