/*
 * snapshot_walk.h - going through a tree of files, with another beside it, while entries are moved and removed.
 *
 * No depth needs more than two descriptors, and a folder's names are read before
 * the first of them is visited. The trees must not be changed by others meanwhile.
 */
#ifndef PETRI_SANDBOX_FILES_SNAPSHOT_WALK_H
#define PETRI_SANDBOX_FILES_SNAPSHOT_WALK_H

#include <sys/stat.h>

/* A folder of the one tree, and the one of the same path in the other, or -1. Borrowed. */
struct snapshot_place {
    int fd, other_fd;
};

/* How to go on: behind an entry; into a folder, alone or in both trees. */
enum { SNAPSHOT_PAST, SNAPSHOT_INTO, SNAPSHOT_INTO_BOTH };

struct snapshot_walker {
    /* An entry, before anything in it. It may be moved or removed, if it isn't gone into. Or -errno, which ends all. */
    int (*visit)(void *arg, const struct snapshot_place *place, const char *name, const struct stat *st);
    /* A folder that was gone into, once all in it was visited; NULL for nothing. It may be removed. 0 or -errno. */
    int (*leave)(void *arg, const struct snapshot_place *place, const char *name);
};

/* Visits all in the folder at fd, with that at other_fd beside it, or -1. 0 or -errno. */
int snapshot_walk(int fd, int other_fd, const struct snapshot_walker *walker, void *arg);

#endif
