/*
 * user_limits.c - the limits as a table, and how descriptors in flight are asked for.
 *
 * Linux does not tell how many descriptors of a user are in flight. But
 * sendmsg(2) fails with ETOOMANYREFS once they are more than the sender's soft
 * limit of open files. So that limit is lowered for one message, and put back.
 * See: too_many_unix_fds() in Linux.
 */
#define _GNU_SOURCE
#include "user_limits.h"

#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* Limits of all tasks of a session beside that of descriptors. Each is less where the user's own is. */
static const struct {
    __rlimit_resource_t resource;
    rlim_t most;
} rows[] = {
    {RLIMIT_SIGPENDING, 1024},  /* a timer takes one too; users have some thousands for each GiB */
    {RLIMIT_MEMLOCK, 64 << 10}, /* keys and the like; usually 8 MiB */
    {RLIMIT_MSGQUEUE, 0},       /* the filter refuses queues */
    {RLIMIT_NICE, 0},           /* a task may step back, and never before others */
    {RLIMIT_RTPRIO, 0},
};

void user_limits_raise_own(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Soft and hard, so that code of cells can't take back what the soft one alone would spare. */
static int lower(pid_t pid, __rlimit_resource_t resource, rlim_t most) {
    struct rlimit limit;
    if (prlimit(pid, resource, NULL, &limit))
        return -errno;
    limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
    limit.rlim_cur = limit.rlim_max;
    return prlimit(pid, resource, &limit, NULL) ? -errno : 0;
}

/* Well below our own also where that is small. */
static rlim_t cells_descriptors(rlim_t hard) {
    return hard / 2 < USER_LIMITS_DESCRIPTORS ? hard / 2 : USER_LIMITS_DESCRIPTORS;
}

int user_limits_lower(pid_t pid, unsigned extra, struct rlimit *ret_descriptors) {
    struct rlimit own;
    if (getrlimit(RLIMIT_NOFILE, &own))
        return -errno;
    rlim_t descriptors = cells_descriptors(own.rlim_max);
    if (descriptors < 2 * (rlim_t)extra)
        return -EMFILE;
    int r = lower(pid, RLIMIT_NOFILE, descriptors + extra);
    for (size_t i = 0; r == 0 && i < sizeof rows / sizeof rows[0]; i++)
        r = lower(pid, rows[i].resource, rows[i].most);
    if (r == 0)
        *ret_descriptors = (struct rlimit){descriptors, descriptors};
    return r;
}

/* The errno of sending a descriptor through a pair of sockets, or 0: then it waits at the other end. */
static int send_one(const int pair[2]) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr header;
    } control = {0};
    struct iovec byte = {.iov_base = (char[]){0}, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    control.header =
        (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int))};
    memcpy(CMSG_DATA(&control.header), &pair[0], sizeof(int));
    return sendmsg(pair[0], &message, MSG_DONTWAIT) == 1 ? 0 : errno;
}

bool user_limits_in_flight_exceeded(void) {
    static int pair[2] = {-1, -1}; /* for good: making them is most of what the question costs */
    struct rlimit own;
    char byte;
    int err = 0;
    if (getrlimit(RLIMIT_NOFILE, &own) || own.rlim_max < USER_LIMITS_IN_FLIGHT ||
        (pair[0] < 0 && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, pair)))
        return false;
    struct rlimit low = {USER_LIMITS_IN_FLIGHT, own.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &low) == 0) {
        err = send_one(pair);
        (void)setrlimit(RLIMIT_NOFILE, &own); /* up to the hard limit one may always go */
    }
    if (err == 0)
        (void)recv(pair[1], &byte, sizeof byte, MSG_DONTWAIT); /* without room for a descriptor: it is closed */
    return err == ETOOMANYREFS;
}

/* 0 where they can't be counted. */
static size_t count_descriptors(void) {
    size_t n = 0;
    auto_dir dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    return n;
}

bool user_limits_lacks_descriptors(size_t n, uint64_t *ret_limit) {
    struct rlimit own;
    if (getrlimit(RLIMIT_NOFILE, &own))
        return false;
    const rlim_t reserve = own.rlim_cur / 4 < USER_LIMITS_RESERVE ? own.rlim_cur / 4 : USER_LIMITS_RESERVE;
    *ret_limit = own.rlim_cur;
    /* What it has beside images is less than the reserve. */
    if (n * USER_LIMITS_IMAGE_DESCRIPTORS + 2 * reserve <= own.rlim_cur)
        return false;
    return count_descriptors() + reserve > own.rlim_cur;
}

static bool has_in_flight(int folder_fd, const char *name) {
    char buf[PROCESS_SMALL];
    uint64_t waiting;
    ssize_t n = system_read_file(folder_fd, name, buf, sizeof buf);
    const struct procfs_text text = {buf, n > 0 ? (size_t)n : 0};
    return procfs_find_number(text, "scm_fds", 10, &waiting) && waiting > 0;
}

bool user_limits_holds_in_flight(pid_t pid) {
    char path[32];
    struct dirent *entry;
    bool holds = false;
    snprintf(path, sizeof path, "/proc/%d/fdinfo", pid);
    auto_dir dir = opendir(path);
    while (dir && !holds && (entry = readdir(dir)))
        holds = entry->d_name[0] != '.' && has_in_flight(dirfd(dir), entry->d_name);
    return holds;
}
