/*
 * host_paths.h - how the host's files and folders come into a template, all of them read-only.
 *
 * A bind mount shows the host's own inodes. Through one a cell could lock a file
 * against the host's programs, delay their writes, have it flushed to the disk, and
 * talk to the program behind a socket or FIFO. An overlay has inodes of its own, so
 * all of that stays within the session. The pages that are read and mapped are the
 * host's in both cases.
 *
 * A path is one of the host's, which may have links anywhere. All return 0, or
 * -errno with ret_error filled.
 *
 * See: overlayfs.rst, docs/shared-objects.md.
 */
#ifndef PETRI_SANDBOX_MOUNTS_HOST_PATHS_H
#define PETRI_SANDBOX_MOUNTS_HOST_PATHS_H

#include "sandbox/sandbox.h"

/* Whose inodes are shown. */
enum host_paths_as {
    HOST_PATHS_AS_CAN_BE,  /* the session's own, with all that is mounted in it; the host's where there is no other way,
                        but for sockets and FIFOs */
    HOST_PATHS_AS_OVERLAY, /* a folder is the session's own, or an error, and may be listed; what is mounted in it, and
                        what is hidden of a home, isn't there */
};

/* The host's files, for as long as a template is built. */
struct host_paths {
    const char *root;         /* where its root stands */
    const char *const *homes; /* of which hidden entries are not shown, as struct session_options has them */
    const char *const *kept;  /* but for these; see folder.h */
};

/* Shows path, a file or folder, at target. One that the host does not have is passed over. */
int host_paths_show(const struct host_paths *host, const char *path, const char *target, enum host_paths_as as,
                    struct error *ret_error) MUST_CHECK;

/* Makes path with its parents, in the template; what is there or can't be changed is left. mode is that of the last. */
int host_paths_make_folders(const char *path, unsigned mode, struct error *ret_error) MUST_CHECK;

/* Makes an empty file, on which another can be mounted. */
int host_paths_make_file(const char *path, struct error *ret_error) MUST_CHECK;

#endif
