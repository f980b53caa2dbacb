/*
 * descendants.c - reads the lists of children of threads, and counts those that live.
 *
 * Only direct children are listed: a process whose parent dies becomes a child of
 * the sandbox's pid 1, so once none has parents among the stopped threads and pid
 * 1 has no living child, there is no other.
 */
#define _GNU_SOURCE
#include "descendants.h"

#include "base/cleanup.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <time.h>

enum { ROUNDS = 20000, NAP_US = 100, MAX_CHILDREN = 8192 };

/* Whether a process still runs. Its first thread may have ended alone: then there are others. What can't be understood
 * is not taken for dead. */
static bool is_alive(pid_t pid) {
    struct procfs_stat stat;
    int r = process_read_stat(pid, &stat);
    if (r)
        return r == -EBADMSG;
    return (stat.state != 'Z' && stat.state != 'X') || stat.threads > 1;
}

int descendants_list_children(pid_t process, pid_t tid, pid_t *ret_pids, size_t max) {
    char file[48], buf[4096];
    struct procfs_ids reader = {0};
    size_t n = 0;
    ssize_t bytes;
    snprintf(file, sizeof file, "task/%d/children", tid);
    auto_fd fd = process_open_fd(process, file, O_RDONLY);
    if (fd < 0)
        return fd;
    while ((bytes = read(fd, buf, sizeof buf)) > 0 && n < max)
        if (!procfs_read_ids(&reader, (struct procfs_text){buf, (size_t)bytes}, ret_pids, max, &n))
            return -EBADMSG;
    if (bytes < 0)
        return errno == ESRCH ? -ENOENT : -errno; /* it has ended since */
    return (int)n;
}

/* -ENOENT: the thread has ended, or this Linux has no such lists; then there may be some. */
static int count_children(pid_t process, pid_t tid, struct descendants *found) {
    pid_t children[MAX_CHILDREN];
    int n = descendants_list_children(process, tid, children, MAX_CHILDREN);
    for (int i = 0; i < n; i++)
        found->alive += is_alive(children[i]);
    found->any |= n != 0;
    return n < 0 && n != -ENOENT ? n : 0;
}

/*
 * Init last: a process whose parent dies in between becomes its child. Those
 * of the stopped threads can't become more once they have none.
 */
int descendants_count(const pid_t *tids, size_t n, pid_t init, struct descendants *ret_descendants) {
    struct descendants found = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = count_children(tids[0], tids[i], &found);
    if (r == 0)
        r = count_children(init, init, &found);
    if (r == 0)
        *ret_descendants = found;
    return r;
}

int descendants_await_dead(const pid_t *tids, size_t n, pid_t init) {
    for (int round = 0; round < ROUNDS; round++) {
        struct descendants found = {0};
        int r = descendants_count(tids, n, init, &found);
        if (r || found.alive == 0)
            return r;
        nanosleep(&(struct timespec){.tv_nsec = NAP_US * 1000}, NULL);
    }
    return -ETIMEDOUT;
}
