/*
 * roster.h - which kernels of a user run, and what each of them does.
 *
 * /proc alone does not tell: what a process calls itself, cells' processes can call
 * themselves too, and what a kernel does now is only in its memory. So each kernel
 * has a small file in a folder of its user's, place.h, and a lock on it. Linux
 * drops the lock with the process, also at kill -9, and tells a reader the pid of
 * its holder: neither is asked of the file. Cells see no such folder, so none of
 * their processes can have a row.
 *
 * The lock is one of fcntl(2) and not flock(2), because children don't inherit it
 * and F_GETLK names its holder: the process that Jupyter has started, which never
 * closes the file. New kernels come in one by one, under a lock of the folder, so
 * that a bound on their number holds also if many start at once.
 *
 * See: F_GETLK and "Advisory record locking" in fcntl(2), flock(2).
 */
#ifndef PETRI_ROSTER_H
#define PETRI_ROSTER_H

#include "base/cleanup.h"
#include "base/error.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum roster_state {
    ROSTER_STARTING,
    ROSTER_IDLE,
    ROSTER_RUNNING,
    ROSTER_UNAVAILABLE, /* it runs no cell */
    ROSTER_N,
};

/* "starting", ... */
const char *roster_state_name(enum roster_state state);

/* What a kernel does. */
struct roster_now {
    enum roster_state state;
    int execution_count; /* of the running cell; 0 where it has none */
};

/* This kernel's own file. All zero is not entered. */
struct roster {
    bool entered;
    int folder_fd;
    int fd;
    char name[32];
    json_t *facts; /* that don't change, owned */
    size_t bytes;  /* of the file */
    struct roster_now now;
};

/* What is told of a kernel from the start. Borrowed. */
struct roster_facts {
    const char *profile;
    const char *folder;  /* where it was started */
    bool takes_no_place; /* it runs no cell, and does not count */
};

/*
 * Enters this kernel. most: how many kernels of this user may run at once, 0 for any
 * number; one that is too many is listed and not counted. Call it in the process
 * that Jupyter has started, before it makes others. 0 with the number of kernels
 * that ran before in ret_running, where one of them is too many if that is most;
 * or -errno with a clause in ret_error. May wait for other kernels that start, for
 * ten seconds. roster is the caller's: roster_leave().
 */
int roster_enter(struct roster *roster, const struct roster_facts *facts, size_t most, size_t *ret_running,
                 struct error *ret_error) MUST_CHECK;

/* Says what the kernel does now; costs nothing where that is as before. */
void roster_tell(struct roster *roster, const struct roster_now *now);

/* Removes the file. The lock goes with the process that has it. */
void roster_leave(struct roster *roster);

/* A kernel that runs, as its user's folder has it. */
struct roster_row {
    uid_t uid;
    pid_t pid; /* of the process that Jupyter has started; 0 where this pid namespace does not have it */
    char profile[32];
    char folder[4096];  /* whatever bytes: to be written with terminal.h */
    int64_t started_ms; /* since 1970; 0 where it is not known */
    int64_t since_ms;   /* that it does what it does */
    struct roster_now now;
};

/*
 * The kernels of this user, as root of all users, the oldest first. What a file
 * says is checked, and left out where it is not what a kernel writes. 0, or
 * -ENOMEM. ret_rows is the caller's: free().
 */
int roster_list(struct roster_row **ret_rows, size_t *ret_n) MUST_CHECK;

/*
 * Used by the sources of this room: for each file of a folder that is a kernel's, whether its
 * lock is held, and by whom (0 where that can't be told).
 */
struct roster_file {
    const char *name;
    int fd; /* borrowed for the call; -1 where it can't be opened */
    bool held;
    bool counts;
    pid_t holder;
};
typedef void roster_file_visitor(void *arg, const struct roster_file *file);
void roster_visit(int folder_fd, roster_file_visitor *visit, void *arg);

#endif
