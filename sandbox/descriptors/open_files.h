/*
 * open_files.h - the files and folders of an image: opened anew for each cell, on their paths as it sees them.
 *
 * So a cell has open files of its own, with the same flags and offsets. Where the
 * mode was changed after a file was opened, and keeps its owner out, the mode is
 * changed for that moment. A file without a path (a temporary file that is
 * unlinked) is opened through its descriptor; shared.h has its contents. A file that
 * can't be opened either way stays shared, and is marked so. Of a folder, or of what
 * is only a path, nothing but the number is left.
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
