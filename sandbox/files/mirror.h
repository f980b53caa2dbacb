/*
 * mirror.h - making one file equal to another in place, so that what has it open or mapped sees the change.
 *
 * Processes that have a file open or mapped keep the old file when it is replaced, and
 * see an empty one for a moment when it is written anew. So only what differs is
 * written, and holes stay holes. Neither of the two may be changed meanwhile.
 *
 * See: lseek(2), SEEK_DATA; fallocate(2), FALLOC_FL_PUNCH_HOLE.
 */
#ifndef PETRI_SANDBOX_FILES_MIRROR_H
#define PETRI_SANDBOX_FILES_MIRROR_H

#include <sys/stat.h>

/* Whether two regular files hold the same bytes. 1, 0 or -errno. */
int mirror_compare(int one_fd, int other_fd);

/* Gives the second regular file the size of the first, and frees what room the first has none for. 0 or -errno. */
int mirror_free_room(int from_fd, int to_fd);

/* After that: writes what differs into the second. 0, -ENOSPC where there is no room for it, or -errno. */
int mirror_fill(int from_fd, int to_fd);

/* Gives the second of two files or folders the attributes (user.*) of the first, and no others. Where a file system
 * has none there is nothing to do. 0 or -errno. */
int mirror_attributes(int from_fd, int to_fd);

/* Whether the second has the attributes of the first, and no others. 1, 0 or -errno. */
int mirror_compare_attributes(int from_fd, int to_fd);

/* Whether what stands at a name has the owner, the mode and the time of change of contents that st says. 1, 0 or
 * -errno. */
int mirror_compare_status(int dir_fd, const char *name, const struct stat *st);

/* Gives what stands at a name the owner, the mode and the time of change of contents that st says; those that it has
 * already aren't set. 0 or -errno. */
int mirror_status(int dir_fd, const char *name, const struct stat *st);

#endif
