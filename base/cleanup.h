/*
 * cleanup.h - releases resources at the end of a scope.
 *
 * See: GCC, "Common Variable Attributes", cleanup.
 */
#ifndef PETRI_BASE_CLEANUP_H
#define PETRI_BASE_CLEANUP_H

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

static inline void cleanup_fclose(FILE **file) {
    if (*file)
        fclose(*file);
}

static inline void cleanup_closedir(DIR **dir) {
    if (*dir)
        closedir(*dir);
}

/* Takes a pointer out of its variable, which then does not free it. */
#define steal_pointer(pointer)                                                                                         \
    ({                                                                                                                 \
        __typeof__(pointer) stolen_ = (pointer);                                                                       \
        (pointer) = NULL;                                                                                              \
        stolen_;                                                                                                       \
    })

/* The same for a descriptor. */
static inline int steal_fd(int *fd) {
    int stolen = *fd;
    *fd = -1;
    return stolen;
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

/* For functions whose result says whether they succeeded. */
#define MUST_CHECK __attribute__((warn_unused_result))

#endif
