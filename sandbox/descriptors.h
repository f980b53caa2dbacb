/*
 * descriptors.h - the descriptors of an image: found when its cell is frozen, given to each cell that is made of it.
 *
 * A copy of an image has copies of its descriptors, but behind them are the
 * same open files: an offset that a cell moves, a flag that it sets, what it
 * reads from a pipe would stay so after a rollback. So each cell gets objects
 * of its own under the same numbers, filled as the image's were. The table in
 * descriptors.c says of each kind what is done; what can't be copied, and holds
 * no more than flags and an offset, is shared, and gets those back when a cell
 * is lost. What could be neither is found here, while the cell that left it can
 * still be rolled back.
 *
 * The number of a descriptor says nothing: a cell that closes its standard input
 * gets 0 for the next file that it opens.
 *
 * See: proc_pid_fd(5), proc_pid_fdinfo(5), kcmp(2), dup(2).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_H
#define PETRI_SANDBOX_DESCRIPTORS_H

#include "giver.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * More of them and a cell is rolled back: each costs the next cell a
 * microsecond, and one that is given to it some twenty.
 */
enum { DESCRIPTORS_MAX = 32768, DESCRIPTORS_GIVEN_MAX = 8192 };

/* The session's own pipes; a cell aside has no part in the first two. */
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
    size_t first;       /* the index of the first with the same open file behind it */
    size_t next;        /* the index of the next one, or DESCRIPTORS_NONE */
    size_t object;      /* the index of the first on the same inode */
    size_t next_object; /* of a first: the index of the next open file on the same inode, or DESCRIPTORS_NONE */
    bool shared;        /* could not be given: a lost cell's traces are taken back */
    bool withheld;      /* a file that can't be saved, and must not be opened by a cell: it gets the number only */
    char *path;         /* of a file; owned; NULL where it has none */
    void *state;        /* what the kind records in the first (of the object, for pipes); owned */
};

struct descriptors {
    size_t n;
    struct descriptor *at; /* by number */
    size_t of_kind[DESCRIPTOR_KINDS];
};

struct descriptors_known;

/* The process that is looked at: stopped, like all who share its descriptors. */
struct descriptors_look {
    pid_t pid;
    int pidfd;
    int dir_fd, info_fd; /* its /proc/PID/fd and fdinfo */
    const struct descriptors_known *known;
    uint64_t room; /* bytes that may still be recorded of what waits in pipes and sockets */
    struct sandbox_error *error;
};

/* What is known of the session's descriptors before one looks. */
struct descriptors_known {
    pid_t viewer;                     /* a process that still sees what the one that is looked at has seen */
    const int *outputs;               /* our ends of its own pipes, DESCRIPTORS_OUTPUTS of them */
    pid_t before;                     /* an earlier image's keeper, and what that had; or 0 and NULL */
    const struct descriptors *listed; /* that keeper's */
};

/*
 * Finds what a stopped process has open, but for its control socket, and takes
 * what waits in its pipes: it is to be an image, which never reads them itself.
 * known is borrowed for the call. ret is the caller's: descriptors_fini(). 0, -ENOTSUP where something can't be carried
 * on (then error->detail says what in words for a user), or -errno.
 */
int descriptors_find(pid_t pid, const struct descriptors_known *known, struct descriptors *ret,
                     struct sandbox_error *ret_error) SANDBOX_MUST_CHECK;

void descriptors_fini(struct descriptors *list);

/*
 * Has the giver's task make what the image had, under the same numbers. A cell
 * aside gets /dev/null in the place of the session's pipes. 0, -EUCLEAN or -errno.
 */
int descriptors_give(struct descriptors *list, struct giver *giver) SANDBOX_MUST_CHECK;

/*
 * Puts flags and offsets of what cells share with the image back, from outside.
 * pid: the image's keeper. Whatever a cell has made of them, this doesn't block.
 * 0 or the first -errno.
 */
int descriptors_put_back(const struct descriptors *list, pid_t pid);

/*
 * Takes back what no cell may leave, lost or not, in what it shares with all
 * others: locks of those open files, and the mode of the session's pipes. list
 * and pid: of the image that the cell was made of, whose open files are all that
 * it could lock and others have; outputs: as in descriptors_known.
 */
void descriptors_end_cell(const struct descriptors *list, pid_t pid, const int outputs[DESCRIPTORS_OUTPUTS]);

/* A row is the first of its open file, the first of its object. */
static inline bool descriptor_is_first(const struct descriptors *list, size_t i) {
    return list->at[i].first == i;
}
static inline bool descriptor_is_object(const struct descriptors *list, size_t i) {
    return list->at[i].object == i;
}

/* The index of a number, or list->n. */
size_t descriptors_index(const struct descriptors *list, int fd);

/* Our duplicate, close-on-exec, of one of the process' descriptors, that never blocks. -errno on failure. */
int descriptors_take(const struct descriptors_look *look, const struct descriptor *descriptor);

#define DESCRIPTORS_FULL ": 16 MiB wait in the cell's pipes and sockets, and that is the most"

/* Writes why a cell can't be carried on, as a printf-style end of "descriptor 7, ". -ENOTSUP. */
int descriptors_refuse(const struct descriptors_look *look, const struct descriptor *descriptor, const char *format,
                       ...) __attribute__((format(printf, 3, 4)));

#endif
