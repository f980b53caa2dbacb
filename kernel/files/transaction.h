/*
 * transaction.h - changes to a folder of the host's, all of them or none.
 *
 * New files are staged in the folder `.petri` of that folder, and a journal there
 * lists the changes; the transaction is committed when the journal gets its name.
 * Then each change is made, a file in one step (rename(2)). What it replaces or
 * removes is kept in `.petri` until all are made; if one can't be made, all are
 * taken back. If petri is killed before the commit, nothing has changed; if it is
 * killed after it, the rest is done when the folder is opened next. `.petri` is
 * locked as long as it exists, so kernels that share a folder take turns, and is
 * removed at the end.
 *
 * Only a file that the caller has seen is overwritten or removed: a file that has
 * been replaced or written to since, or that a program has open for writing, is
 * kept, and the new one gets a free name like it ("data (2).csv"). This is checked
 * once more after the two files have been exchanged, and then they are exchanged
 * back if necessary. No symbolic link is followed.
 *
 * A thread waits for the disk, and others get their turns (base/errand.h). Where something is replaced or removed,
 * the new files are synced to the disk before, so that after a power cut the old
 * or the new ones exist.
 *
 * See: docs/files.md; RENAME_EXCHANGE in rename(2), flock(2).
 */
#ifndef PETRI_TRANSACTION_H
#define PETRI_TRANSACTION_H

#include "base/cleanup.h"
#include "kernel/files/journal.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct transaction;

/* A file that is being staged. All zero but fd -1 is none. */
struct transaction_file {
    int fd; /* for writing */
    char stage[JOURNAL_STAGE_BYTES];
};

/*
 * Opens and locks the folder, and makes the changes that an earlier transaction
 * had committed but not made; ret_recovered is their number. folder_fd stays the
 * caller's. 0 with ret the caller's: transaction_close(); -EAGAIN where another
 * kernel has locked it; -EPERM where `.petri` belongs to another user; -EBADMSG
 * where its journal can't be read; -EUCLEAN where the journal's changes can't be
 * made, and then it is left; -ESTALE where `.petri` was of another folder, from
 * which it was copied, and has another name now: try again; -EACCES where the folder's mode does not allow
 * writing; or another -errno.
 */
int transaction_open(int folder_fd, struct transaction **ret, size_t *ret_recovered) MUST_CHECK;

/* Why it can't be opened, and what to do, as a clause for people. r: the result of transaction_open(). Static. */
const char *transaction_problem(int r);

/* Only makes the changes of an earlier transaction; creates nothing where there is none. Their number, or -errno. */
int transaction_recover(int folder_fd) MUST_CHECK;

/* Drops changes that were not committed, and unlocks the folder. NULL is allowed. */
void transaction_close(struct transaction *transaction);

/* Makes a file to be written. 0 or -errno. */
int transaction_stage(struct transaction *transaction, struct transaction_file *ret_file) MUST_CHECK;

/* Drops it; none is allowed. */
void transaction_drop(struct transaction *transaction, struct transaction_file *file);

/*
 * stat(2) of a path below the folder; no symbolic link is followed. 0;
 * -ENOENT; -ELOOP or -ENOTDIR where a folder of the path is not a folder;
 * -EXDEV where another file system is mounted; or another -errno.
 */
int transaction_look(const struct transaction *transaction, const char *path, struct stat *ret_st) MUST_CHECK;

/* Whether the user may add, replace and remove names in the folder of the path: 0, also where it is still to be made,
 * or -EACCES. Linux does not check it for a process with capabilities in its user namespace. */
int transaction_check_folder(const struct transaction *transaction, const char *path) MUST_CHECK;

/* Whether a program has the user's regular file at the path open for writing: host_is_written(). */
bool transaction_is_written(const struct transaction *transaction, const char *path);

/* Opens a regular file below it, for reading. A descriptor or -errno, as above. */
int transaction_open_file(const struct transaction *transaction, const char *path) MUST_CHECK;

/* Opens a folder below it, for readdir(3). A descriptor or -errno, as above. */
int transaction_open_folder(const struct transaction *transaction, const char *path) MUST_CHECK;

/*
 * Adds a change, with copies of path and before. The changes are made in the
 * order in which they are added. before: the file that it may replace or remove,
 * or NULL for none. 0 or -errno.
 */
int transaction_add(struct transaction *transaction, enum journal_kind kind, const char *path,
                    const struct stat *before) MUST_CHECK;

/* The same for a staged file, which is used up. It gets the mode and the times of content. */
int transaction_add_file(struct transaction *transaction, struct transaction_file *file, const char *path,
                         const struct stat *before, const struct stat *content) MUST_CHECK;

/* Removes the changes from the n-th on; none of them may be that of a staged file. */
void transaction_forget_from(struct transaction *transaction, size_t n);

size_t transaction_n(const struct transaction *transaction);

/* The i-th change, borrowed until the next is added. */
const struct journal_change *transaction_change(const struct transaction *transaction, size_t i);

/* The i-th change is not made; what is staged for it is dropped. Before the commit. */
void transaction_leave_out(struct transaction *transaction, size_t i);

/* Whether st is of the file or folder that was staged for the i-th change. */
bool transaction_is_staged(const struct transaction *transaction, size_t i, const struct stat *st);

/* Commits: from now on the changes will be made, by this process or a later one. Where something is replaced or
 * removed, the staged files are on the disk before. 0, or -errno and none will be. */
int transaction_commit(struct transaction *transaction) MUST_CHECK;

/* Makes committed changes until clock_us() is about until_us, or takes them back if one can't be made. True once all is
 * done. */
bool transaction_step(struct transaction *transaction, int64_t until_us);

/* Once all is done: 0; or -errno of the change that could not be made, of which ret_path is borrowed. Then none is. */
int transaction_failed(const struct transaction *transaction, const char **ret_path);

/* Whether something could not be taken back or removed; the next one that opens the folder tries it again. */
bool transaction_is_stuck(const struct transaction *transaction);

/*
 * The result of the i-th change, once all are made: 0; -EEXIST where the file got
 * another name, which is in ret_path (borrowed); -ESTALE where the file to remove
 * is a different one by now; -ENOTEMPTY for a folder.
 */
int transaction_result(const struct transaction *transaction, size_t i, const char **ret_path);

#endif
