/*
 * host_file.h - opens files of the host that petri itself reads and writes, and checks them.
 *
 * A user who can write to a folder can put anything there under a file's name: a
 * symbolic link, a FIFO that blocks open(2), a hard link to another file, a file
 * without end. So the file is opened first, without blocking, and then its type,
 * owner, hard links and size are checked.
 */
#ifndef PETRI_HOST_FILE_H
#define PETRI_HOST_FILE_H

#include "base/cleanup.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Who has to be the owner of a file. */
enum host_owner {
    HOST_ANY_OWNER,
    HOST_TRUSTED, /* the effective user or root, and not every user may write to it */
    HOST_OWN,     /* the effective user */
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
 * with a clause in ret_error ("it is a link"): -ELOOP, -EINVAL for what is no
 * regular file, -EPERM for another's, -EMLINK, -EFBIG, or of openat(2). Blocks
 * only for the disk.
 */
int host_file_open(int dir_fd, const char *path, const struct host_file *wanted, struct error *ret_error) MUST_CHECK;

/* The same checks for a file that is already open; wanted's flags and mode are ignored. 0 or -errno as above. */
int host_file_check(int fd, const struct host_file *wanted, struct error *ret_error) MUST_CHECK;

/*
 * Opens a path below dir_fd, without following symbolic links or leaving it. A
 * descriptor or -errno. See: openat2(2).
 */
int host_open_beneath(int dir_fd, const char *path, int flags, mode_t mode) MUST_CHECK;

/* Renames to a name that does not exist, also on file systems without RENAME_NOREPLACE. 0, -EEXIST or -errno. */
int host_rename_to_free(int dir_fd, const char *from, int to_dir_fd, const char *to) MUST_CHECK;

/*
 * Whether a program has the regular file open for writing, or has mapped it so;
 * the file is the caller's own. False where the file system does not tell, as
 * some on a network don't. See: fcntl(2), "Leases".
 */
bool host_is_written(int dir_fd, const char *name);

/* Writes all of it. 0 or -errno. */
int host_write(int fd, const void *data, size_t bytes) MUST_CHECK;

/* Whether this owner is the effective user or root. */
bool host_is_trusted(uid_t owner);

/*
 * Whether this owner is certainly neither of them. In the user namespace of an
 * ordinary user's kernel the host's root has no uid of its own and has the
 * overflow uid, as all other users have: about that uid nothing is known. See:
 * user_namespaces(7), "Unmapped user and group IDs".
 */
bool host_is_anothers(uid_t owner);

/* " (uid 1000)", or "" for the overflow uid of this user namespace. Returns buf. */
const char *host_owner_text(uid_t owner, char *buf, size_t size);

#endif
