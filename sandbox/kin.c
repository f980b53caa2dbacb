#define _GNU_SOURCE
#include "kin.h"

#include "cleanup.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 20000, NAP_US = 100 };

/* Whether a process still runs; the state stands behind the last bracket of its name. */
static bool is_alive(pid_t pid) {
    char path[32], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (system_read_file(AT_FDCWD, path, text, sizeof text) < 0)
        return false;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] != 'Z' && name_end[2] != 'X';
}

static int count_children(pid_t process, pid_t tid, unsigned *alive) {
    char path[64], line[8192];
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, tid);
    ssize_t n = system_read_file(AT_FDCWD, path, line, sizeof line);
    if (n < 0)
        return n == -ENOENT ? 0 : (int)n;
    for (char *save, *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
        if (is_alive((pid_t)strtol(word, NULL, 10)))
            ++*alive;
    return 0;
}

int kin_count_alive(const pid_t *tids, size_t n, pid_t init, unsigned *ret_alive) {
    unsigned alive = 0;
    int r = count_children(init, init, &alive);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = count_children(tids[0], tids[i], &alive);
    if (r == 0)
        *ret_alive = alive;
    return r;
}

int kin_await_dead(const pid_t *tids, size_t n, pid_t init) {
    for (int round = 0; round < ROUNDS; round++) {
        unsigned alive = 0;
        int r = kin_count_alive(tids, n, init, &alive);
        if (r || alive == 0)
            return r;
        nanosleep(&(struct timespec){.tv_nsec = NAP_US * 1000}, NULL);
    }
    return -ETIMEDOUT;
}
