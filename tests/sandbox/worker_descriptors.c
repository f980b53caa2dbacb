/* The worker's descriptors: it makes them, uses them, and shares memory. Numbers are answered as the cell knows them.
 */
#include "worker.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum { MAX_MAPPINGS = 4096, PAGE_BYTES = 4096 };

static volatile char *mapping[MAX_MAPPINGS];
static long n_mappings;

static void reply_result(long r) {
    reply("%ld", r < 0 ? -(long)errno : r);
}

static void reply_pair(int r, const int pair[2]) {
    if (r)
        reply_result(r);
    else
        reply("%d %d", pair[0], pair[1]);
}

static int listen_on_loopback(in_port_t *ret_port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 7) ||
        getsockname(fd, (struct sockaddr *)&address, &bytes))
        return -1;
    *ret_port = ntohs(address.sin_port);
    return fd;
}

/* Both ends of a connection through the loopback. */
static int connect_to_self(int pair[2]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    in_port_t port;
    int listener = listen_on_loopback(&port);
    address.sin_port = htons(port);
    pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = connect(pair[0], (struct sockaddr *)&address, sizeof address);
    pair[1] = r ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    close(listener);
    return pair[1] < 0 ? -1 : 0;
}

static struct sockaddr_un unix_address(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return address;
}

static int listen_at(const char *path) {
    const struct sockaddr_un address = unix_address(path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(fd, (const struct sockaddr *)&address, sizeof address) || listen(fd, 7) ? -1 : fd;
}

/* Makes an object of a kind; the answer is its descriptors, or what the call gave. */
void do_make(char **words) {
    const char *kind = words[1];
    const long number = words[2] ? strtol(words[2], NULL, 0) : 0;
    int pair[2];
    in_port_t port = 0;
    sigset_t signals;
    if (strcmp(kind, "pipe") == 0)
        reply_pair(pipe2(pair, (int)number), pair);
    else if (strcmp(kind, "pair") == 0)
        reply_pair(socketpair(AF_UNIX, (int)number, 0, pair), pair);
    else if (strcmp(kind, "event") == 0)
        reply_result(eventfd((unsigned)number, words[3] ? EFD_SEMAPHORE : 0));
    else if (strcmp(kind, "epoll") == 0)
        reply_result(epoll_create1(EPOLL_CLOEXEC));
    else if (strcmp(kind, "memory") == 0)
        reply_result(memfd_create("named", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    else if (strcmp(kind, "timer") == 0) {
        const struct itimerspec when = {.it_value = {.tv_nsec = 1}};
        int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
        reply_result(timerfd_settime(fd, 0, &when, NULL) ? -1 : fd);
    } else if (strcmp(kind, "signals") == 0) {
        sigemptyset(&signals);
        sigaddset(&signals, SIGUSR2);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        reply_result(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    } else if (strcmp(kind, "server") == 0) {
        int fd = listen_on_loopback(&port);
        reply("%d %d", fd, port);
    } else if (strcmp(kind, "server-at") == 0)
        reply_result(listen_at(words[2]));
    else if (strcmp(kind, "connection") == 0)
        reply_pair(connect_to_self(pair), pair);
}

/* One read. */
void do_take(char **words) {
    char text[PAGE_BYTES];
    ssize_t n = read((int)strtol(words[1], NULL, 0), text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    reply("%s", n < 0 ? strerrorname_np(errno) : text);
}

/* One read of a number: a count, or a signal. */
void do_tick(char **words) {
    union {
        uint64_t value;
        struct signalfd_siginfo signal;
    } told;
    ssize_t n = read((int)strtol(words[1], NULL, 0), &told, sizeof told);
    if (n < 0)
        reply("%s", strerrorname_np(errno));
    else
        reply("%llu", (unsigned long long)told.value);
}

void do_say(char **words) {
    reply_result(write((int)strtol(words[1], NULL, 0), words[2], strlen(words[2])));
}

/* Adds to an eventfd. */
void do_raise(char **words) {
    const uint64_t value = strtoull(words[2], NULL, 0);
    reply_result(write((int)strtol(words[1], NULL, 0), &value, sizeof value));
}

void do_watch(char **words) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = strtoull(words[3], NULL, 0)};
    reply_result(epoll_ctl((int)strtol(words[1], NULL, 0), EPOLL_CTL_ADD, (int)strtol(words[2], NULL, 0), &event));
}

/* The sum of what was given for those that are ready. */
void do_ready(char **words) {
    struct epoll_event events[16];
    unsigned long long sum = 0;
    int n = epoll_wait((int)strtol(words[1], NULL, 0), events, 16, 0);
    for (int i = 0; i < n; i++)
        sum += events[i].data.u64;
    reply("%llu", sum);
}

/* Sends a descriptor through a socket. */
void do_pass(char **words) {
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    const struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.room};
    const int fd = (int)strtol(words[2], NULL, 0);
    memcpy(CMSG_DATA(&control.header), &fd, sizeof fd);
    reply_result(sendmsg((int)strtol(words[1], NULL, 0), &message, 0));
}

/* Maps shared memory, of a descriptor or -1, so often; the answer is the number of the first. */
void do_map(char **words) {
    const int fd = (int)strtol(words[1], NULL, 0), protection = (int)strtol(words[3], NULL, 0);
    const size_t bytes = strtoul(words[2], NULL, 0);
    const long first = n_mappings, times = words[4] ? strtol(words[4], NULL, 0) : 1;
    for (long i = 0; i < times && n_mappings < MAX_MAPPINGS; i++) {
        void *at = mmap(NULL, bytes, protection, MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
        if (at == MAP_FAILED) {
            reply_result(-1);
            return;
        }
        mapping[n_mappings++] = at;
    }
    reply("%ld", first);
}

void do_store(char **words) {
    char *at = (char *)mapping[strtol(words[1], NULL, 0)];
    if (mprotect(at, PAGE_BYTES, PROT_READ | PROT_WRITE) == 0)
        (void)snprintf(at, PAGE_BYTES, "%s", words[2]);
    reply("ok");
}

void do_load(char **words) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s", (const char *)mapping[strtol(words[1], NULL, 0)]);
    reply("%s", text);
}

static void *be_server(void *arg) {
    const int listener = *(int *)arg;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0 && write(fd, "served", 6) == 6)
            close(fd);
    }
    return NULL;
}

/* A thread that answers whoever connects. */
void do_serve(char **words) {
    static int listener[16], n;
    pthread_t thread;
    listener[n] = (int)strtol(words[1], NULL, 0);
    reply("%d", pthread_create(&thread, NULL, be_server, &listener[n++]));
}

/* What a server says: at a port, or a path. */
void do_ask(char **words) {
    const struct sockaddr_un path = unix_address(words[1]);
    const struct sockaddr_in port = {.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)strtol(words[1], NULL, 10)),
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char text[16] = "";
    int fd = socket(words[1][0] == '/' ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int r = words[1][0] == '/' ? connect(fd, (const struct sockaddr *)&path, sizeof path)
                               : connect(fd, (const struct sockaddr *)&port, sizeof port);
    if (r == 0 && read(fd, text, sizeof text - 1) < 0)
        r = -1;
    reply("%s", r ? strerrorname_np(errno) : text);
    close(fd);
}
