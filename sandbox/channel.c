#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int channel_send(int socket, const void *data, size_t bytes, int fd) {
    union control control = {0};
    struct iovec iov = {.iov_base = (void *)(size_t)data, .iov_len = bytes};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    ssize_t n;
    do
        n = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n < 0 ? -errno : 0;
}

int channel_receive(int socket, void *data, size_t bytes, int *ret_fd) {
    union control control = {0};
    struct iovec iov = {.iov_base = data, .iov_len = bytes};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;
    do
        n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return -errno;
    if (n == 0)
        return -EPIPE;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *ret_fd = -1;
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(ret_fd, CMSG_DATA(header), sizeof *ret_fd);
    return (size_t)n == bytes && !(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) ? 0 : -EBADMSG;
}

union credentials {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(struct ucred))];
};

int channel_send_pid(int socket, pid_t pid) {
    const struct ucred who = {.pid = pid, .uid = getuid(), .gid = getgid()};
    union credentials control = {0};
    struct iovec iov = {.iov_base = "", .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_CREDENTIALS;
    header->cmsg_len = CMSG_LEN(sizeof who);
    memcpy(CMSG_DATA(header), &who, sizeof who);
    return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

int channel_receive_pid(int socket, pid_t *ret_pid) {
    struct ucred who;
    char byte;
    union credentials control = {0};
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t n;
    do
        n = recvmsg(socket, &message, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (n != 1 || !header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS)
        return -EPIPE;
    memcpy(&who, CMSG_DATA(header), sizeof who);
    *ret_pid = who.pid;
    return 0;
}
