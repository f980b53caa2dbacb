/*
 * transaction.h - changes to a folder of the host's, all of them or none.
 *
 * What is to be written is staged in a folder `.petri` of that folder, then a
 * journal there says what is to be done: with the name of the journal it is
 * decided. Then each change is made, a file in one step (rename(2)). A kernel
 * that is killed before that has changed nothing; what is decided is finished by
 * the next kernel that opens the folder. `.petri` is gone again once nothing is
 * to be done, and is locked as long as it is there, so kernels that share a
 * folder take turns.
 *
 * Nothing is overwritten or removed but what the caller has looked at: a file
 * that is another one by then, or has been written to, stays, and the new one gets
 * a free name like it ("data (2).csv"). That is looked at again once the file has
 * been exchanged for the new one, and if need be exchanged back. No link is followed.
 *
 * A transaction blocks as the disk does, and what replaces or removes something
 * is on the disk before that is done, so that no power cut can lose both.
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
 * Opens the folder, which folder_fd stays the caller's of, locks it, and does
 * what an earlier one had decided and not done: ret_recovered is how many
 * changes. 0 with ret the caller's: transaction_close(); -EAGAIN where another
 * has it; -EPERM where `.petri` is another user's; -EBADMSG where its journal
 * can't be read; -EUCLEAN where what it says can't be done, and then it is left
 * as it is; -EACCES where the folder's mode allows no writing; or another -errno.
 */
int transaction_open(int folder_fd, struct transaction **ret, size_t *ret_recovered) MUST_CHECK;

/* Why it can't be opened, and what to do, as a clause for people. r: what transaction_open() has returned. Static. */
const char *transaction_problem(int r);

/* Only that: where nothing is to be done, nothing is made. The number of changes, or -errno. */
int transaction_recover(int folder_fd) MUST_CHECK;

/* Forgets what was not decided, and unlocks the folder. NULL is allowed. */
void transaction_close(struct transaction *transaction);

/* Makes a file to be written. 0 or -errno. */
int transaction_stage(struct transaction *transaction, struct transaction_file *ret_file) MUST_CHECK;

/* Drops it; none is allowed. */
void transaction_drop(struct transaction *transaction, struct transaction_file *file);

/* What stands at a path below the folder, no link followed. 0; -ENOENT; -ELOOP or -ENOTDIR where a folder on the way is
 * none; -EXDEV where something else is mounted there; or another -errno. */
int transaction_look(const struct transaction *transaction, const char *path, struct stat *ret_st) MUST_CHECK;

/* Opens a folder below it, to read its names. A descriptor or -errno, as above. */
int transaction_open_folder(const struct transaction *transaction, const char *path) MUST_CHECK;

/*
 * Adds a change, of which there is a copy then. The changes are made in their
 * order. before: what it may replace or remove, or NULL for nothing. 0 or -errno.
 */
int transaction_add(struct transaction *transaction, enum journal_kind kind, const char *path,
                    const struct stat *before) MUST_CHECK;

/* The same of a staged file, all of which is written: uses it up. It gets mode, and the times of its content. */
int transaction_add_file(struct transaction *transaction, struct transaction_file *file, const char *path,
                         const struct stat *before, const struct stat *content) MUST_CHECK;

/* Forgets the changes from the n-th on; of staged files none may be among them. */
void transaction_forget_from(struct transaction *transaction, size_t n);

size_t transaction_n(const struct transaction *transaction);

/* Decides: from now on the changes are made, by this kernel or the next. 0, or -errno and none is. */
int transaction_decide(struct transaction *transaction) MUST_CHECK;

/* Makes changes that are decided, until clock_us() is until_us or a little longer. True once all are made. */
bool transaction_step(struct transaction *transaction, int64_t until_us);

/*
 * What came of the i-th change: 0; -EEXIST where it has been given another name,
 * which is in ret_path then (borrowed); -ESTALE where what was to be removed is another by now;
 * -ENOTEMPTY of a folder; or another -errno.
 */
int transaction_result(const struct transaction *transaction, size_t i, const char **ret_path);

#endif
