/*
 * saved.h - what a file that a stopped process has open held before a cell, kept by us and put back.
 *
 * A cell may be rolled back because it has used up the disk. So files are put back
 * in two rounds: first each is cut to what it had, then each gets back what it
 * lost. A hole in the saved contents takes no room afterwards.
 *
 * The mode of a file may keep its owner out. Then it is changed for the moment,
 * which shows in the file's ctime only.
 */
#ifndef PETRI_SANDBOX_FILES_SAVED_H
#define PETRI_SANDBOX_FILES_SAVED_H

#include "sandbox/sandbox.h"

#include <sys/stat.h>
#include <sys/types.h>

struct saved {
    void *data; /* owned; NULL while nothing is saved */
    size_t bytes;
    struct stat was;
};

void saved_fini(struct saved *saved);

/*
 * Opens the regular file behind a descriptor of a stopped process, whatever its
 * mode; blocks nowhere. A descriptor, close-on-exec, or -errno (-EINVAL: no
 * regular file).
 */
int saved_open(pid_t pid, int number, int flags) MUST_CHECK;

/* Whether an open file can't be written to, however it is opened anew: it lies on a mount that is read-only. */
bool saved_is_constant(int fd);

/* Whether what one holds can be kept, if that is needed at all; takes its bytes from *room. */
bool saved_has_room(pid_t pid, int number, uint64_t *room);

/* Keeps what it holds, at most *room bytes, which are taken from that. 0, -EFBIG or -errno. */
int saved_take(struct saved *saved, pid_t pid, int number, uint64_t *room) MUST_CHECK;

/* The first round. 0 or -errno. */
int saved_free_room(const struct saved *saved, pid_t pid, int number) MUST_CHECK;

/* The second. A file that has not changed is only read. 0 or -errno. */
int saved_put_back(const struct saved *saved, pid_t pid, int number) MUST_CHECK;

#endif
