/* The worker takes as much as it can of what Linux counts by user, and keeps it. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS_IN_MESSAGE = 250, ENOUGH = 200000 };

/* Each takes one piece, or sets errno. How many were taken by it, or -1. */

static int put_in_flight(void) {
    static int sockets[2];
    char space[CMSG_SPACE(DESCRIPTORS_IN_MESSAGE * sizeof(int))] = {0};
    struct iovec byte = {.iov_base = (char[]){'x'}, .iov_len = 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(DESCRIPTORS_IN_MESSAGE * sizeof(int))};
    for (size_t i = 0; i < DESCRIPTORS_IN_MESSAGE; i++)
        memcpy(CMSG_DATA(header) + i * sizeof(int), &(int){WORKER_FD}, sizeof(int));
    if (sockets[1] == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
        return -1;
    return sendmsg(sockets[1], &message, MSG_DONTWAIT) == 1 ? DESCRIPTORS_IN_MESSAGE : -1;
}

static int make_instance(void) {
    return inotify_init1(IN_CLOEXEC) < 0 ? -1 : 1;
}

static int make_pipe(void) {
    int pair[2];
    return pipe2(pair, O_CLOEXEC) ? -1 : 1;
}

static int queue_signal(void) {
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    return sigqueue(getpid(), SIGRTMIN, (union sigval){0}) ? -1 : 1;
}

static int lock_page(void) {
    enum { PAGE = 4096 };
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page == MAP_FAILED || mlock(page, PAGE) ? -1 : 1;
}

static const struct {
    const char *name;
    int (*take)(void);
} hoards[] = {
    {"flight", put_in_flight}, {"inotify", make_instance}, {"pipes", make_pipe},
    {"signals", queue_signal}, {"locked", lock_page},
};

/* Until it can't: the errno, and how many it has. */
void do_hoard(char **words) {
    int n = 0, taken = 0;
    for (size_t i = 0; i < sizeof hoards / sizeof hoards[0]; i++) {
        if (strcmp(words[1], hoards[i].name) != 0)
            continue;
        while (n < ENOUGH && (taken = hoards[i].take()) > 0)
            n += taken;
        reply("%s %d", taken < 0 ? strerrorname_np(errno) : "endless", n);
    }
}
