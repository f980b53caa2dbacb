#define _GNU_SOURCE
#include "silence.h"

#include "cleanup.h"
#include "tracee.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_one_of(const struct stat *st, const struct stat pipes[2]) {
    for (int i = 0; i < 2; i++)
        if (st->st_dev == pipes[i].st_dev && st->st_ino == pipes[i].st_ino)
            return true;
    return false;
}

/* The descriptors of a process that are ends of the pipes. 0, -EMFILE for more than max, or -errno. */
static int find(pid_t pid, const struct stat pipes[2], int *fds, size_t max, size_t *ret_n) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    auto_dir dir = opendir(path);
    struct dirent *entry;
    struct stat st;
    size_t n = 0;
    if (!dir)
        return -errno;
    while ((entry = readdir(dir))) {
        if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &st, 0) || !is_one_of(&st, pipes))
            continue;
        if (n == max)
            return -EMFILE;
        fds[n++] = (int)strtol(entry->d_name, NULL, 10);
    }
    *ret_n = n;
    return 0;
}

static int open_null(const struct remote_task *task, uint64_t *ret_fd) {
    static const char path[] = "/dev/null";
    uint64_t at = task->site->scratch;
    struct remote_call call = {.number = SYS_openat, .argument = {(uint64_t)AT_FDCWD, at, O_RDWR | O_CLOEXEC}};
    int r = memory_write(task->memory_fd, at, path, sizeof path);
    if (r == 0)
        r = remote_run(task, &call, 1);
    if (r == 0)
        r = remote_failure(&call, 1, NULL);
    if (r == 0)
        *ret_fd = (uint64_t)call.result;
    return r;
}

int silence_pipes(pid_t pid, const struct remote_task *task, const int pipe_fds[2]) {
    struct remote_call calls[REMOTE_MAX_CALLS];
    struct stat pipes[2];
    int fds[REMOTE_MAX_CALLS - 1];
    size_t n = 0;
    uint64_t null_fd = 0;
    if (fstat(pipe_fds[0], &pipes[0]) || fstat(pipe_fds[1], &pipes[1]))
        return -errno;
    int r = find(pid, pipes, fds, sizeof fds / sizeof fds[0], &n);
    if (r == 0)
        r = open_null(task, &null_fd);
    if (r)
        return r;
    for (size_t i = 0; i < n; i++)
        calls[i] = (struct remote_call){
            .number = SYS_dup3, .argument = {null_fd, (uint64_t)fds[i], fds[i] > STDERR_FILENO ? O_CLOEXEC : 0}};
    calls[n++] = (struct remote_call){.number = SYS_close, .argument = {null_fd}};
    r = remote_run(task, calls, n);
    return r ? r : remote_failure(calls, n, NULL);
}
