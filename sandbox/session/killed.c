/*
 * killed.c - a list of bounded length: who can't be added to it is waited for.
 *
 * The last is always waited for first, because Linux keeps a process until the threads of it
 * that we trace are reaped, and these are behind it.
 */
#define _GNU_SOURCE
#include "killed.h"

#include "sandbox/inject/tracee.h"

#include <sys/wait.h>

void killed_add(struct killed *killed, pid_t pid) {
    if (pid <= 0)
        return;
    if (killed->n == KILLED_MAX)
        tracee_reap(killed->pid[--killed->n]);
    killed->pid[killed->n++] = pid;
}

void killed_reap(struct killed *killed) {
    size_t kept = 0;
    for (size_t i = 0; i < killed->n; i++) {
        int status;
        pid_t r = waitpid(killed->pid[i], &status, __WALL | WNOHANG);
        if (r == 0 || (r > 0 && WIFSTOPPED(status)))
            killed->pid[kept++] = killed->pid[i];
    }
    killed->n = kept;
}

void killed_await(struct killed *killed) {
    while (killed->n > 0)
        tracee_reap(killed->pid[--killed->n]);
}

bool killed_has(const struct killed *killed, pid_t pid) {
    for (size_t i = 0; i < killed->n; i++)
        if (killed->pid[i] == pid)
            return true;
    return false;
}
