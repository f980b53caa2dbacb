/* The worker takes as much as it can of what Linux counts by user, and keeps it. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS_IN_MESSAGE = 250, ENOUGH = 200000 };

/* One with many descriptors; data and space are borrowed. */
static struct msghdr make_message(struct iovec *data, char space[CMSG_SPACE(DESCRIPTORS_IN_MESSAGE * sizeof(int))]) {
    const size_t bytes = CMSG_SPACE(DESCRIPTORS_IN_MESSAGE * sizeof(int));
    memset(space, 0, bytes);
    struct msghdr message = {.msg_iov = data, .msg_iovlen = 1, .msg_control = space, .msg_controllen = bytes};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){
        .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(DESCRIPTORS_IN_MESSAGE * sizeof(int))};
    for (size_t i = 0; i < DESCRIPTORS_IN_MESSAGE; i++)
        memcpy(CMSG_DATA(header) + i * sizeof(int), &(int){WORKER_FD}, sizeof(int));
    return message;
}

/* Each of these takes one piece, or sets errno. How many were taken by it, or -1. */

static int put_in_flight(void) {
    static int sockets[2];
    char space[CMSG_SPACE(DESCRIPTORS_IN_MESSAGE * sizeof(int))];
    struct iovec byte = {.iov_base = (char[]){'x'}, .iov_len = 1};
    struct msghdr message = make_message(&byte, space);
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

/* Threads that send at one time: each is compared with its limit, and held up before it is counted. */

enum { SENDERS = 12, PAGE_BYTES = 4096, PAGES_OF_SENDER = 64, PAGES = 50000 };

struct race {
    char *pages; /* of each sender's the first is not there yet: to copy it waits for who changes the others */
    atomic_int ready, sent;
};

struct sender {
    struct race *race;
    int sockets[2];
    char *data;
};

static void *send_with_others(void *argument) {
    struct sender *sender = argument;
    char space[CMSG_SPACE(DESCRIPTORS_IN_MESSAGE * sizeof(int))];
    struct iovec data = {.iov_base = sender->data, .iov_len = PAGE_BYTES};
    struct msghdr message = make_message(&data, space);
    sender->race->ready++;
    while (sender->race->ready <= SENDERS)
        sched_yield();
    if (sendmsg(sender->sockets[1], &message, MSG_DONTWAIT) > 0)
        sender->race->sent += DESCRIPTORS_IN_MESSAGE;
    return NULL;
}

void do_race(char **words) {
    static struct race race;
    static struct sender senders[SENDERS];
    pthread_t threads[SENDERS];
    (void)words;
    race.pages = mmap(NULL, (size_t)PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    madvise(race.pages, (size_t)PAGES * PAGE_BYTES, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < PAGES; i++)
        if (i % PAGES_OF_SENDER || i / PAGES_OF_SENDER >= SENDERS)
            race.pages[i * PAGE_BYTES] = 1;
    for (size_t i = 0; i < SENDERS; i++) {
        senders[i] = (struct sender){&race, {-1, -1}, race.pages + i * PAGES_OF_SENDER * PAGE_BYTES};
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, senders[i].sockets) ||
            pthread_create(&threads[i], NULL, send_with_others, &senders[i]))
            _exit(101);
    }
    while (race.ready < SENDERS)
        sched_yield();
    race.ready++;
    for (int i = 0; i < 10; i++)
        mprotect(race.pages, (size_t)PAGES * PAGE_BYTES, i % 2 ? PROT_READ | PROT_WRITE : PROT_READ);
    for (size_t i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    reply("%d", race.sent);
}

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
