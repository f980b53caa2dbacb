/*
 * export_log.h - what petri has written into the folder of exports: the file `.petri-sha256` there.
 *
 * In the format of sha256sum(1); the last line of a name holds. Whoever may
 * write to the folder may write this too: it only ever says which files petri
 * may replace, and where it says nothing, nothing is replaced. So one that can't
 * be believed (a link, a second name of another file, another user's, in whose
 * folder it is not) is not read and not written to: a new one takes its place.
 *
 * It is written anew, with one line for each file that is still there, when it
 * has grown; and where there are more than it may hold, the oldest are forgotten.
 */
#ifndef PETRI_EXPORT_LOG_H
#define PETRI_EXPORT_LOG_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* What names of petri's own begin with, there and among the files of cells. */
#define EXPORT_OWN_NAMES ".petri"
#define EXPORT_COPY_NAME EXPORT_OWN_NAMES "-copy-"

enum { EXPORT_LOG_BYTES_MAX = 16 << 20, EXPORT_NAME_BYTES = 64 };

struct export_log {
    json_t *written;  /* path: sha256, as far as it was read; the youngest last; owned */
    ino_t inode;      /* of the file it was read from */
    int64_t born_ns;  /* and when that was made: numbers of inodes come again */
    off_t bytes;      /* and how much of it */
    off_t max_bytes;  /* that are read; half of it may be in use */
    off_t tidy_bytes; /* beyond this size it is written anew */
};

void export_log_init(struct export_log *log, off_t max_bytes);
void export_log_fini(struct export_log *log);

/* Reads what was added since, of the log in a folder that is locked: no other kernel writes to it. 0 or -ENOMEM, -EIO.
 */
int export_log_read(struct export_log *log, int dir_fd) MUST_CHECK;

/* The digest that petri wrote under a path, hexadecimal, or NULL. Borrowed until the log changes. */
const char *export_log_find(const struct export_log *log, const char *path);

/* Adds a line. 0 or -errno. */
int export_log_note(struct export_log *log, int dir_fd, const char *path, const char *sha256) MUST_CHECK;

/* Makes a file under a name of petri's own, which goes to ret_name, for writing. A descriptor or -errno. */
int export_make_file(int dir_fd, char ret_name[EXPORT_NAME_BYTES]) MUST_CHECK;

#endif
