/*
 * cleanup.h - what goes out of scope is released.
 *
 * See: GCC, "Common Variable Attributes", cleanup.
 */
#ifndef PETRI_KERNEL_CLEANUP_H
#define PETRI_KERNEL_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void kernel_cleanup_close(const int *fd) {
    if (*fd >= 0)
        close(*fd);
}

static inline void kernel_cleanup_free(void *pointer) {
    free(*(void **)pointer);
}

static inline void kernel_cleanup_fclose(FILE **file) {
    if (*file)
        fclose(*file);
}

static inline void kernel_cleanup_closedir(DIR **dir) {
    if (*dir)
        closedir(*dir);
}

/* Takes a pointer out of its variable, which no longer frees it. */
#define steal_pointer(pointer)                                                                                         \
    ({                                                                                                                 \
        __typeof__(pointer) stolen_ = (pointer);                                                                       \
        (pointer) = NULL;                                                                                              \
        stolen_;                                                                                                       \
    })

/* The same for a descriptor that is not closed then. */
static inline int steal_descriptor(int *fd) {
    int stolen = *fd;
    *fd = -1;
    return stolen;
}

#define auto_fd __attribute__((cleanup(kernel_cleanup_close))) int
#define auto_free __attribute__((cleanup(kernel_cleanup_free)))
#define auto_dir __attribute__((cleanup(kernel_cleanup_closedir))) DIR *
#define auto_file __attribute__((cleanup(kernel_cleanup_fclose))) FILE *

#define KERNEL_MUST_CHECK __attribute__((warn_unused_result))

#endif
