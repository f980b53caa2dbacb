/*
 * descriptor.h - one descriptor of an image, the list of all, and what is known while one is looked at.
 *
 * The part that descriptors.h and each kind of descriptor have in common. See: descriptors.h.
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_DESCRIPTOR_H
#define PETRI_SANDBOX_DESCRIPTORS_DESCRIPTOR_H

#include "sandbox/sandbox.h"

#include <sys/types.h>

/* The pipes that we read; an ephemeral cell has no part in the first two. */
enum { DESCRIPTORS_OUTPUTS = 3, DESCRIPTORS_SILENCED = 2 };

enum descriptor_kind {
    DESCRIPTOR_KEPT,    /* without a state but its flags, and an offset perhaps: devices, pidfds, namespaces */
    DESCRIPTOR_OUTPUT,  /* the pipes of standard output and standard error */
    DESCRIPTOR_FILE,    /* a file or folder with a path */
    DESCRIPTOR_UNNAMED, /* a file without one */
    DESCRIPTOR_MEMFD,
    DESCRIPTOR_PIPE, /* or a FIFO */
    DESCRIPTOR_SOCKET,
    DESCRIPTOR_EVENTFD,
    DESCRIPTOR_TIMERFD,
    DESCRIPTOR_SIGNALFD,
    DESCRIPTOR_INOTIFY,
    DESCRIPTOR_EPOLL, /* the last, for it refers to the others */
    DESCRIPTOR_KINDS,
};

#define DESCRIPTORS_NONE SIZE_MAX

struct descriptor {
    int fd;
    enum descriptor_kind kind;
    int flags; /* as open(2) takes them, O_CLOEXEC among them */
    int64_t offset;
    mode_t mode;
    uint64_t bytes; /* of a file */
    dev_t device;   /* these two tell objects apart, unless the kind has no inodes of its own */
    ino_t inode;
    int output;         /* which of the pipes that we read it is an end of, or DESCRIPTORS_OUTPUTS */
    size_t first;       /* the index of the first with the same open file behind it */
    size_t next;        /* the index of the next one, or DESCRIPTORS_NONE */
    size_t object;      /* the index of the first on the same inode */
    size_t next_object; /* of a first: the index of the next open file on the same inode, or DESCRIPTORS_NONE */
    bool shared;        /* could not be given: a rolled-back cell's traces are taken back */
    bool withheld;      /* a file that can't be saved, and must not be opened by a cell: it gets the number only */
    char *path;         /* of a file; owned; NULL where it has none */
    void *state;        /* what the kind records in the first (of the object, for pipes); owned */
};

struct descriptors {
    size_t n;
    struct descriptor *at; /* by number */
    size_t of_kind[DESCRIPTOR_KINDS];
};

/* What is known of the session's descriptors before one looks. */
struct descriptors_known {
    pid_t viewer;                     /* a process that still sees what the one that is looked at has seen */
    const int *outputs;               /* our ends of the pipes that it writes to, DESCRIPTORS_OUTPUTS of them */
    pid_t before;                     /* an earlier image's keeper, and what that had; or 0 and NULL */
    const struct descriptors *listed; /* that keeper's */
};

/* The process that is looked at: stopped, like all who share its descriptors. */
struct descriptors_source {
    pid_t pid;
    int pidfd;
    int dir_fd, info_fd; /* its /proc/PID/fd and fdinfo */
    const struct descriptors_known *known;
    uint64_t room; /* bytes that may still be recorded of what waits in pipes and sockets */
    struct error *error;
};

/* A row is the first of its open file, the first of its object. */
static inline bool descriptor_is_first(const struct descriptors *list, size_t i) {
    return list->at[i].first == i;
}
static inline bool descriptor_is_object(const struct descriptors *list, size_t i) {
    return list->at[i].object == i;
}

/* Puts the rows in the order of their numbers. */
void descriptors_sort(struct descriptors *list);

/* The index of a number, or list->n, in a list that is in order. */
size_t descriptors_index(const struct descriptors *list, int fd);

/* Our duplicate, close-on-exec, of one of the process' descriptors, that never blocks. -errno on failure. */
int descriptors_take(const struct descriptors_source *source, const struct descriptor *descriptor);

#define DESCRIPTORS_FULL ": more than 16 MiB of unread data in the cell's pipes and sockets"

/* Writes why a cell can't be carried on, as a printf-style end of "descriptor 7, ". -ENOTSUP. */
int descriptors_refuse(const struct descriptors_source *source, const struct descriptor *descriptor, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

#endif
