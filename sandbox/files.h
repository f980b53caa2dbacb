/*
 * files.h - the open files of an image: found at its end, opened anew at the start of the next cell.
 *
 * A copy of an image has copies of its descriptors, but behind them are the
 * same open files: an offset that a cell moves, or a file that it writes, would
 * stay so after a rollback. So a cell gets open files of its own, with the
 * same flags and offsets, on the paths as its own overlay shows them; what it
 * writes goes into its own layer.
 *
 * The number of a descriptor says nothing: a cell that closes its standard input
 * gets 0 for the next file that it opens. What the worker has of its own when a
 * cell ends are pipes, a socket and /dev/null, none of them a file or folder.
 *
 * What has no path any more (a temporary file that is unlinked) is shared:
 * its offset is put back at a rollback, its contents are not.
 *
 * See: proc_pid_fdinfo(5), kcmp(2), open(2).
 */
#ifndef PETRI_SANDBOX_FILES_H
#define PETRI_SANDBOX_FILES_H

#include "remote.h"

struct open_file {
    int fd;
    int flags; /* as open(2) takes them, O_CLOEXEC among them */
    int64_t offset;
    int same_as; /* a lower descriptor with the same open file behind it, or -1 */
    bool shared; /* it could not be opened anew in the cell that runs now */
    char *path;  /* owned; NULL where it has none any more */
};

struct open_files {
    size_t n;
    struct open_file *file;
};

void open_files_fini(struct open_files *files);

/* Finds the regular files and folders that a stopped process has open. ret is the caller's. 0 or -errno. */
int open_files_find(pid_t pid, struct open_files *ret);

/*
 * Has a stopped task open the files anew, under the same descriptors. What
 * can't be opened stays shared, and is marked. 0; -EUCLEAN or -errno where the
 * task could not make the calls.
 */
int open_files_renew(struct open_files *files, const struct remote_task *task);

/* Has a stopped task put the offsets of shared files back. 0 or -errno. */
int open_files_put_back(const struct open_files *files, const struct remote_task *task);

#endif
