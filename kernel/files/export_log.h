/*
 * export_log.h - the list of files that petri has written to the export folder: `.petri-sha256` there.
 *
 * It has the format of sha256sum(1); the last line of a path counts. Anybody who
 * can write to the folder can write this file too, but it only says which files
 * petri may replace; files that it does not list are never replaced. A log that
 * can't be trusted (a symbolic link, a file with several hard links, or one that
 * belongs neither to the user nor to the folder's owner) is not read or written,
 * but replaced by a new one.
 *
 * When the log has grown, it is rewritten with one line for each file that still
 * exists. Where these are too many, the oldest are forgotten.
 */
#ifndef PETRI_EXPORT_LOG_H
#define PETRI_EXPORT_LOG_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdint.h>
#include <sys/types.h>

/* The prefix of petri's own names, in the export folder and among the files of cells. */
#define EXPORT_OWN_NAMES ".petri"
#define EXPORT_COPY_NAME EXPORT_OWN_NAMES "-copy-"

enum { EXPORT_LOG_BYTES_MAX = 16 << 20, EXPORT_NAME_BYTES = 64 };

struct export_log {
    json_t *written;  /* path: sha256, the newest last; owned */
    ino_t inode;      /* of the file it was read from */
    int64_t born_ns;  /* its time of birth, because inode numbers are reused */
    off_t bytes;      /* how much of it has been read */
    off_t max_bytes;  /* at most so many bytes are read; a rewritten log has at most half of that */
    off_t tidy_bytes; /* a log of this size is rewritten */
};

void export_log_init(struct export_log *log, off_t max_bytes);
void export_log_fini(struct export_log *log);

/* Reads what was added since, of the log in a folder that nobody else writes to: dir_fd is locked. 0 or -ENOMEM, -EIO.
 */
int export_log_read(struct export_log *log, int dir_fd) MUST_CHECK;

/* The digest that petri wrote under a path, hexadecimal, or NULL. Borrowed until the log changes. */
const char *export_log_find(const struct export_log *log, const char *path);

/* Adds a line. 0 or -errno. */
int export_log_note(struct export_log *log, int dir_fd, const char *path, const char *sha256) MUST_CHECK;

/* The names in the export folder that are petri's own, NULL-ended: the log, and files that have not got their names
 * yet. While the folder is locked there is one of a copy and one of a log. */
extern const char *const export_own_names[];

/* Makes a file for writing under a temporary name, which goes to ret_name. A descriptor or -errno. */
int export_make_file(int dir_fd, char ret_name[EXPORT_NAME_BYTES]) MUST_CHECK;

#endif
