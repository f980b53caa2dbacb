/*
 * own_limits.c - a table of what petri needs at least, and a try for tasks, of which others of the user count too.
 */
#include "own_limits.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* TASKS: threads of libzmq, the zygote, the cage, two sandboxes; more than a kernel begins with. MANY: hardly a user
 * has used up so many, and trying takes milliseconds. */
enum { TASKS = 24, MANY = 4096 };

static const struct row {
    const char *name;
    __rlimit_resource_t resource;
    rlim_t least;
    const char *unit;
    const char *option; /* of bash's ulimit */
    rlim_t option_unit;
} rows[] = {
    {"RLIMIT_FSIZE", RLIMIT_FSIZE, 64 << 20, "bytes a file", "-f", 1024},
    {"RLIMIT_NOFILE", RLIMIT_NOFILE, 512, "open files", "-n", 1},
    {"RLIMIT_STACK", RLIMIT_STACK, 1 << 20, "bytes of stack", "-s", 1024},
    {"RLIMIT_AS", RLIMIT_AS, (rlim_t)1 << 30, "bytes of address space", "-v", 1024},
    {"RLIMIT_DATA", RLIMIT_DATA, 512 << 20, "bytes of data", "-d", 1024},
};

static bool suffices(const struct row *row, rlim_t value) {
    return value == RLIM_INFINITY || value >= row->least;
}

static bool check_row(const struct row *row, char *why, size_t size) {
    struct rlimit limit;
    if (getrlimit(row->resource, &limit) || suffices(row, limit.rlim_cur))
        return true;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max == RLIM_INFINITY || limit.rlim_max > row->least ? row->least : limit.rlim_max;
    if (suffices(row, limit.rlim_cur) && setrlimit(row->resource, &limit) == 0)
        return true;
    snprintf(why, size,
             "%s is %llu %s, and petri needs %llu: raise this limit where petri is started (ulimit %s %llu, or "
             "prlimit)",
             row->name, (unsigned long long)before, row->unit, (unsigned long long)row->least, row->option,
             (unsigned long long)(row->least / row->option_unit));
    return false;
}

/* Whether so many processes more can be there at the same time. Each ends when the pipe is closed. */
static bool can_fork(int n) {
    int pipe_fds[2], made = 0;
    pid_t pids[TASKS];
    char byte;
    if (pipe(pipe_fds))
        return true; /* something else is wrong, and is said elsewhere */
    while (made < n && (pids[made] = fork()) >= 0) {
        if (pids[made] == 0) {
            close(pipe_fds[1]);
            _exit(read(pipe_fds[0], &byte, 1) != 0);
        }
        made++;
    }
    const bool can = made == n || errno != EAGAIN;
    close(pipe_fds[1]);
    close(pipe_fds[0]);
    for (int i = 0; i < made; i++)
        (void)waitpid(pids[i], NULL, 0);
    return can;
}

bool own_limits_suffice(char *why, size_t size) {
    struct rlimit limit;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (!check_row(&rows[i], why, size))
            return false;
    if (getrlimit(RLIMIT_NPROC, &limit) || limit.rlim_cur >= MANY) /* RLIM_INFINITY is the highest */
        return true;
    if (limit.rlim_cur < TASKS && limit.rlim_max >= TASKS) {
        limit.rlim_cur = TASKS;
        (void)setrlimit(RLIMIT_NPROC, &limit);
    }
    if (limit.rlim_cur >= TASKS && can_fork(TASKS))
        return true;
    snprintf(why, size,
             "RLIMIT_NPROC is %llu processes and threads of this user, and %d more can't start, which petri needs: "
             "raise this limit where petri is started (ulimit -u, or prlimit), or end some",
             (unsigned long long)limit.rlim_cur, TASKS);
    return false;
}

static void say_cpu(int signal) {
    static const char said[] = "petri: RLIMIT_CPU is used up: raise this limit where petri is started (ulimit -t, or "
                               "prlimit)\n";
    (void)signal;
    _exit(write(STDERR_FILENO, said, sizeof said - 1) < 0 ? 2 : 1);
}

void own_limits_take_signals(void) {
    (void)sigaction(SIGXFSZ, &(struct sigaction){.sa_handler = SIG_IGN}, NULL);
    (void)sigaction(SIGXCPU, &(struct sigaction){.sa_handler = say_cpu}, NULL);
}
