/*
 * directory.h - folders as streams of entries, from descriptors.
 *
 * See: fdopendir(3), which leaves the descriptor to the caller where it fails.
 */
#ifndef PETRI_BASE_DIRECTORY_H
#define PETRI_BASE_DIRECTORY_H

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>

/* The entries of the folder at fd, which is used up also on failure; -1 is passed on. The caller's; NULL with errno. */
static inline DIR *directory_of(int fd) {
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0) {
        int err = errno;
        close(fd);
        errno = err;
    }
    return dir;
}

/* The same of a folder that stays open, from its first entry on. */
static inline DIR *directory_open(int dir_fd) {
    return directory_of(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

#endif
