/*
 * descriptor.c - what the kinds of descriptors share: refusing one, duplicating one, finding one by number.
 *
 * A duplicate has the same open file behind it, and so its flags: setting
 * O_NONBLOCK on it changes the image's, which is never used again.
 */
#define _GNU_SOURCE
#include "descriptor.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int descriptors_refuse(const struct descriptors_source *source, const struct descriptor *descriptor, const char *format,
                       ...) {
    char what[128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return step_failed(source->error, STEP_DESCRIPTORS, ENOTSUP, "descriptor %d, %s", descriptor->fd, what);
}

int descriptors_take(const struct descriptors_source *source, const struct descriptor *descriptor) {
    auto_fd fd = system_pidfd_getfd(source->pidfd, descriptor->fd);
    if (fd < 0)
        return fd;
    /* The image never uses it again, and what a cell gets in its place has the flags that were recorded. */
    return fcntl(fd, F_SETFL, descriptor->flags | O_NONBLOCK) ? -errno : steal_fd(&fd);
}

static int by_number(const void *a, const void *b) {
    int x = ((const struct descriptor *)a)->fd, y = ((const struct descriptor *)b)->fd;
    return (x > y) - (x < y);
}

void descriptors_sort(struct descriptors *list) {
    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_number);
}

size_t descriptors_index(const struct descriptors *list, int fd) {
    const struct descriptor key = {.fd = fd};
    const struct descriptor *found = list->n ? bsearch(&key, list->at, list->n, sizeof key, by_number) : NULL;
    return found ? (size_t)(found - list->at) : list->n;
}
