/*
 * cleanup.h - release at the end of a scope.
 *
 * See: GCC, "Common Variable Attributes", cleanup.
 */
#ifndef PETRI_CLEANUP_H
#define PETRI_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_close(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

static inline void cleanup_free(void *pointer) {
    free(*(void **)pointer);
}

static inline void cleanup_closedir(DIR **dir) {
    if (*dir)
        closedir(*dir);
}

static inline void cleanup_fclose(FILE **file) {
    if (*file)
        fclose(*file);
}

/* Takes a descriptor out of its variable, which no longer closes it. */
static inline int steal_fd(int *fd) {
    int taken = *fd;
    *fd = -1;
    return taken;
}

/* Closes a descriptor that may be -1, and forgets it. */
static inline void close_fd(int *fd) {
    cleanup_close(fd);
    *fd = -1;
}

#define auto_fd __attribute__((cleanup(cleanup_close))) int
#define auto_free __attribute__((cleanup(cleanup_free)))
#define auto_dir __attribute__((cleanup(cleanup_closedir))) DIR *
#define auto_file __attribute__((cleanup(cleanup_fclose))) FILE *

#endif
