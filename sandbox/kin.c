#define _GNU_SOURCE
#include "kin.h"

#include "cleanup.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 20000, NAP_US = 100, MAX_CHILDREN = 8192 };

/*
 * Whether a process still runs. What /proc/PID/stat has behind the last bracket
 * of the name is the state of its first thread, which may have ended alone:
 * then there are others, by the 18th field from there.
 */
static bool is_alive(pid_t pid) {
    char path[32], text[512], state = 'X';
    long threads = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return false;
    const char *name_end = strrchr(text, ')');
    if (!name_end || sscanf(name_end + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %ld",
                            &state, &threads) != 2)
        return false;
    return (state != 'Z' && state != 'X') || threads > 1;
}

int kin_list_children(pid_t process, pid_t tid, pid_t *ret_pids, size_t max) {
    char path[64];
    size_t n = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, tid);
    auto_file file = fopen(path, "re");
    if (!file)
        return -errno;
    while (n < max && fscanf(file, "%d", &ret_pids[n]) == 1)
        n++;
    return (int)n;
}

/* -ENOENT: the thread has ended, or this Linux has no such lists; then there may be some. */
static int count_children(pid_t process, pid_t tid, struct kin *kin) {
    pid_t children[MAX_CHILDREN];
    int n = kin_list_children(process, tid, children, MAX_CHILDREN);
    for (int i = 0; i < n; i++)
        kin->alive += is_alive(children[i]);
    kin->any |= n != 0;
    return n < 0 && n != -ENOENT ? n : 0;
}

/*
 * Init last: a process whose parent dies in between becomes its child. Those
 * of the stopped threads can't become more once they have none.
 */
int kin_count(const pid_t *tids, size_t n, pid_t init, struct kin *ret_kin) {
    struct kin kin = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = count_children(tids[0], tids[i], &kin);
    if (r == 0)
        r = count_children(init, init, &kin);
    if (r == 0)
        *ret_kin = kin;
    return r;
}

int kin_await_dead(const pid_t *tids, size_t n, pid_t init) {
    for (int round = 0; round < ROUNDS; round++) {
        struct kin kin = {0};
        int r = kin_count(tids, n, init, &kin);
        if (r || kin.alive == 0)
            return r;
        nanosleep(&(struct timespec){.tv_nsec = NAP_US * 1000}, NULL);
    }
    return -ETIMEDOUT;
}
