/*
 * channel.c - one sendmsg(2) and one recvmsg(2), each for what may go along with a packet.
 *
 * A packet has a fixed size, so one of another size is an error of the other side
 * and not a part of something longer.
 */
#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for the larger of what goes along: a descriptor, or a process' ids. */
union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(struct ucred))];
};

/* Sends a packet; type and what, of its size, go along where type is not 0. 0 or -errno. */
static int send_with(int socket, const void *data, size_t bytes, int type, const void *what, size_t size) {
    union control control = {0};
    struct iovec iov = {.iov_base = (void *)(size_t)data, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (type) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(size);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = type;
        header->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(header), what, size);
    }
    ssize_t n;
    do
        n = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

/* Receives a packet of exactly bytes, and what has gone along with it, if it is of that type. 0, or -errno. */
static int receive_with(int socket, void *data, size_t bytes, int flags, int type, void *ret_what, size_t size,
                        bool *ret_has) {
    union control control = {0};
    struct iovec iov = {.iov_base = data, .iov_len = bytes};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
    ssize_t n;
    do
        n = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n <= 0)
        return n < 0 ? -errno : -EPIPE;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *ret_has = header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == type;
    if (*ret_has)
        memcpy(ret_what, CMSG_DATA(header), size);
    return (size_t)n == bytes && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ? 0 : -EBADMSG;
}

int channel_send(int socket, const void *data, size_t bytes, int fd) {
    return send_with(socket, data, bytes, fd >= 0 ? SCM_RIGHTS : 0, &fd, sizeof fd);
}

int channel_receive(int socket, void *data, size_t bytes, int *ret_fd) {
    bool has_fd = false;
    *ret_fd = -1;
    return receive_with(socket, data, bytes, 0, SCM_RIGHTS, ret_fd, sizeof *ret_fd, &has_fd);
}

int channel_send_pid(int socket, pid_t pid) {
    const struct ucred who = {.pid = pid, .uid = getuid(), .gid = getgid()};
    return send_with(socket, "", 1, SCM_CREDENTIALS, &who, sizeof who);
}

int channel_receive_pid(int socket, pid_t *ret_pid) {
    struct ucred who;
    char byte;
    bool has_pid = false;
    int r = receive_with(socket, &byte, 1, MSG_DONTWAIT, SCM_CREDENTIALS, &who, sizeof who, &has_pid);
    if (r || !has_pid)
        return r && r != -EAGAIN ? r : -EPIPE;
    *ret_pid = who.pid;
    return 0;
}
