/*
 * host_file.h - files of the host that petri itself reads and writes, opened so that no other user can choose them.
 *
 * A user who may write to a folder can put anything under a name in it: a link, a
 * FIFO that blocks a reader, a second name of another file, a file without end.
 * So the file is opened first, without waiting, and what was opened is looked at:
 * its kind, its owner, its names, its size.
 */
#ifndef PETRI_HOST_FILE_H
#define PETRI_HOST_FILE_H

#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Whose a file has to be. */
enum host_owner {
    HOST_ANYBODYS,
    HOST_TRUSTED, /* the effective user's or root's, and not writable for all users */
    HOST_OWN,     /* the effective user's */
};

struct host_file {
    int flags;             /* of open(2); O_NOFOLLOW where the name must be no link. O_NONBLOCK, O_NOCTTY and O_CLOEXEC
                              are added */
    mode_t mode;           /* with O_CREAT */
    enum host_owner owner; /* of the file */
    bool one_name;         /* hard links are refused */
    off_t max_bytes;       /* 0 for any */
};

/*
 * Opens a regular file; dir_fd and path are openat(2)'s. A descriptor, or -errno
 * with a clause in ret_error ("it is a link"): -ELOOP, -EINVAL for what is no regular
 * file, -EPERM for another's, -EMLINK, -EFBIG, or of openat(2). Waits for nothing
 * but the disk.
 */
int host_file_open(int dir_fd, const char *path, const struct host_file *wanted, struct error *ret_error) MUST_CHECK;

/* The same look at a file that is open already: wanted's flags and mode do not matter. 0 or -errno as above. */
int host_file_check(int fd, const struct host_file *wanted, struct error *ret_error) MUST_CHECK;

/* Opens a path below dir_fd, through no link and not out of it. A descriptor or -errno. See: openat2(2). */
int host_open_beneath(int dir_fd, const char *path, int flags, mode_t mode) MUST_CHECK;

/* Renames to a name that is free, also on file systems without RENAME_NOREPLACE. 0, -EEXIST or -errno. */
int host_rename_to_free(int dir_fd, const char *from, int to_dir_fd, const char *to) MUST_CHECK;

/* Writes all of it. 0 or -errno. */
int host_write(int fd, const void *data, size_t bytes) MUST_CHECK;

/* Whether a file or folder of this owner can be trusted: the effective user's, or root's. */
bool host_is_trusted(uid_t owner);

/*
 * Whether it is known to be of another user. In the user namespace that an
 * ordinary user's kernel lives in, root has no id of its own: there it can't be
 * known.
 * See: user_namespaces(7), "Unmapped user and group IDs".
 */
bool host_is_anothers(uid_t owner);

/* " (uid 1000)", or "" for the number that stands for all that have none in this user namespace. Returns buf. */
const char *host_owner_text(uid_t owner, char *buf, size_t size);

#endif
