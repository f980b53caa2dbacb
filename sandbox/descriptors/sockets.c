/*
 * sockets.c - recording sockets, and finding which of them are pairs.
 *
 * Each socket is looked at by a duplicate; what waits in it is peeked and not
 * taken, because what can't be copied must not be closed by us.
 *
 * Pairs find each other by their names: each side that has none is bound to one
 * that Linux chooses, and then a and b are a pair where a's peer has b's name and
 * b's peer has a's. What is connected to a socket that the image doesn't have is
 * orphaned, and is restored with its other side hung up.
 *
 * An internet connection within the image is shared with its cells. Its counts of
 * bytes are noted, and a rolled-back cell that has moved them has the connection
 * shut down: what was sent or read can't be taken back.
 */
#define _GNU_SOURCE
#include "sockets.h"

#include "base/cleanup.h"
#include "sandbox/base/system.h"
#include "sandbox/descriptors/left.h"

#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <malloc.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/un.h>

enum { USUAL_BACKLOG = 128, MESSAGE_BYTES = 1 << 20, SURE_BYTES = 65536 };

void sockets_fini(struct descriptor *descriptor) {
    free(((struct socket_state *)descriptor->state)->content.data);
}

size_t sockets_bytes(const struct descriptor *descriptor) {
    return malloc_usable_size(((struct socket_state *)descriptor->state)->content.data);
}

static int integer_option(int fd, int level, int name) {
    int value = 0;
    socklen_t bytes = sizeof value;
    return getsockopt(fd, level, name, &value, &bytes) ? -1 : value;
}

/* As tcp(7) has it for one that listens; of a Unix socket it can't be asked. */
static int backlog_of(int fd) {
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    memset(&info, 0, sizeof info);
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) ? USUAL_BACKLOG : (int)info.tcpi_sacked;
}

static bool is_inet(const struct socket_state *state) {
    return state->domain == AF_INET || state->domain == AF_INET6;
}

/*
 * Our duplicate, with its flags as they are: a connection is the next cell's own,
 * and a thread that waits in it would be told to come back later. Nothing here waits.
 */
static int take(const struct descriptors_source *source, const struct descriptor *descriptor) {
    return system_pidfd_getfd(source->pidfd, descriptor->fd);
}

/* What has gone through a connection; more is more. */
static struct socket_traffic read_traffic(int fd) {
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    int unread = 0;
    memset(&info, 0, sizeof info);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) || ioctl(fd, SIOCINQ, &unread))
        return (struct socket_traffic){.state = -1};
    return (struct socket_traffic){.sent = info.tcpi_bytes_sent,
                                   .received = info.tcpi_bytes_received,
                                   .unread = (uint64_t)unread,
                                   .state = info.tcpi_state};
}

int sockets_put_back(const struct descriptor *descriptor, int fd) {
    const struct socket_state *state = descriptor->state;
    if (!state || state->role != SOCKET_CONNECTED)
        return 0;
    const struct socket_traffic now = read_traffic(fd), before = state->traffic;
    if (now.sent != before.sent || now.received != before.received || now.unread != before.unread ||
        now.state != before.state)
        (void)shutdown(fd, SHUT_RDWR); /* or it has hung up by itself */
    else
        sockets_set_options(fd, state);
    return 0;
}

int sockets_leave(struct descriptors *list, const struct inject_task *keeper) {
    int r = 0;
    for (size_t i = 0; list->of_kind[DESCRIPTOR_SOCKET] > 0 && r == 0 && i < list->n; i++) {
        struct socket_state *state = list->at[i].kind == DESCRIPTOR_SOCKET ? list->at[i].state : NULL;
        if (!state || state->role != SOCKET_CONNECTED || !list->at[i].shared)
            continue;
        r = left_open_file(list, i, keeper);
        for (size_t k = i; k != DESCRIPTORS_NONE; k = list->at[k].next)
            list->at[k].shared = false;
        state->role = SOCKET_PLAIN;
        state->at_end = true;
        state->name_bytes = 0;
    }
    return r;
}

/* An internet socket that is bound to nothing has the name 0.0.0.0 with port 0; a Unix one has a family and no path. */
static void read_name(int fd, struct socket_state *state) {
    struct sockaddr_storage name = {0};
    socklen_t bytes = sizeof name;
    in_port_t port = 1;
    if (getsockname(fd, (struct sockaddr *)&name, &bytes) || bytes > sizeof name)
        return;
    if (is_inet(state))
        memcpy(&port, (char *)&name + offsetof(struct sockaddr_in, sin_port), sizeof port); /* in both families */
    if (bytes <= sizeof(sa_family_t) || port == 0)
        return;
    state->name = name;
    state->name_bytes = bytes;
}

/*
 * Two Unix sockets that are connected know each other by their names; one that
 * has none gets one (the image never uses it again), and no two have the same
 * but those that were accepted.
 */
static void name_sides(int fd, struct socket_state *state) {
    const sa_family_t none = AF_UNIX;
    state->own_bytes = sizeof state->own;
    if (state->name_bytes == 0)
        (void)bind(fd, (const struct sockaddr *)&none, sizeof none);
    if (getsockname(fd, (struct sockaddr *)&state->own, &state->own_bytes))
        state->own_bytes = 0;
}

/*
 * More can wait in a socket than a new one takes: sendfile(2) gives it pages of
 * a file, which count for less than copies, and many may have sent to it. So
 * much is tried; any socket takes SURE_BYTES.
 */
static int check_room(const struct descriptors_source *source, const struct descriptor *descriptor,
                      const struct socket_state *state) {
    int r = state->content.bytes > SURE_BYTES ? sockets_try(state) : 0;
    return r == -ENOBUFS ? descriptors_refuse(source, descriptor, "a socket that holds more data than a new socket can")
                         : r;
}

/* Looks at all that waits, without taking it: what can't be copied must not be closed by us. */
static int peek_content(struct descriptors_source *source, const struct descriptor *descriptor, int fd,
                        struct socket_state *state) {
    const int none = 0;
    int waits = 0, r = 0;
    uint64_t seen = 0;
    auto_free char *buf = malloc(MESSAGE_BYTES);
    if (!buf)
        return -ENOMEM;
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &none, sizeof none) ||
        setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &none, sizeof none) || ioctl(fd, SIOCINQ, &waits))
        return -errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &none, sizeof none);
    while (r == 0) {
        struct iovec part = {.iov_base = buf, .iov_len = MESSAGE_BYTES};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t n = recvmsg(fd, &message, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 || (n == 0 && (state->type == SOCK_STREAM || state->at_end)))
            break;
        if (message.msg_flags & MSG_CTRUNC)
            return descriptors_refuse(source, descriptor, "a socket that open files are on their way through");
        if (message.msg_flags & MSG_TRUNC)
            return descriptors_refuse(source, descriptor, "a socket with a message of more than 1 MiB");
        seen += (uint64_t)n;
        r = content_add(&state->content, buf, (uint32_t)n, &source->room);
    }
    if (r == -E2BIG)
        return descriptors_refuse(source, descriptor, "a socket" DESCRIPTORS_FULL);
    if (r == 0 && state->type == SOCK_STREAM && seen != (uint64_t)waits)
        return descriptors_refuse(source, descriptor, "a socket with urgent data");
    return r ? r : check_room(source, descriptor, state);
}

/* Of POLLIN and POLLRDHUP. */
static short poll_once(int fd) {
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN | POLLRDHUP};
    return poll(&poll_fd, 1, 0) == 1 ? poll_fd.revents : 0;
}

/* The image never uses it again: a peer that waits to be accepted is told that it is closed. */
static int look_at_listener(int fd, struct socket_state *state) {
    state->role = SOCKET_LISTENS;
    state->backlog = backlog_of(fd);
    if (is_inet(state))
        (void)shutdown(fd, SHUT_RD); /* a Unix socket is orphaned, and given so */
    return 0;
}

/*
 * One that is connected to nothing. A TCP connection that is over still tells the
 * name that it had, which for one that was accepted is its listener's: bound to
 * it anew, it would be in that one's way.
 */
static int look_at_lone(int fd, struct socket_state *state) {
    if (!is_inet(state) || state->type != SOCK_STREAM || !(poll_once(fd) & POLLRDHUP))
        return 0;
    state->at_end = true;
    state->name_bytes = 0;
    return 0;
}

static int look_at(struct descriptors_source *source, struct descriptor *descriptor) {
    struct socket_state *state = calloc(1, sizeof *state);
    if (!state)
        return -ENOMEM;
    *state = (struct socket_state){.other_bytes = sizeof state->other};
    descriptor->state = state;
    auto_fd fd = take(source, descriptor);
    if (fd < 0)
        return fd;
    state->domain = integer_option(fd, SOL_SOCKET, SO_DOMAIN);
    state->type = integer_option(fd, SOL_SOCKET, SO_TYPE);
    state->protocol = integer_option(fd, SOL_SOCKET, SO_PROTOCOL);
    if (!is_inet(state) && state->domain != AF_UNIX)
        return descriptors_refuse(source, descriptor, "a socket of family %d", state->domain);
    sockets_read_options(fd, state);
    read_name(fd, state);
    if (integer_option(fd, SOL_SOCKET, SO_ACCEPTCONN) == 1)
        return look_at_listener(fd, state);
    if (getpeername(fd, (struct sockaddr *)&state->other, &state->other_bytes))
        return look_at_lone(fd, state);
    state->role = state->domain == AF_UNIX ? SOCKET_ORPHANED : SOCKET_CONNECTED;
    descriptor->shared = state->role == SOCKET_CONNECTED && state->type == SOCK_STREAM;
    if (descriptor->shared)
        state->traffic = read_traffic(fd);
    if (state->domain != AF_UNIX)
        return 0;
    const short events = poll_once(fd);
    state->at_end = state->type != SOCK_DGRAM && (events & POLLRDHUP);
    name_sides(fd, state);
    return (events & POLLIN) ? peek_content(source, descriptor, fd, state) : 0;
}

/* Once all have names. */
static int read_other(const struct descriptors_source *source, const struct descriptor *descriptor) {
    struct socket_state *state = descriptor->state;
    auto_fd fd = take(source, descriptor);
    if (fd < 0)
        return fd;
    state->other_bytes = sizeof state->other;
    if (getpeername(fd, (struct sockaddr *)&state->other, &state->other_bytes))
        state->other_bytes = 0;
    return 0;
}

static bool is_same(const struct sockaddr_storage *a, socklen_t a_bytes, const struct sockaddr_storage *b,
                    socklen_t b_bytes) {
    return a_bytes > sizeof(sa_family_t) && a_bytes == b_bytes && a_bytes <= sizeof *a && memcmp(a, b, a_bytes) == 0;
}

/* Joins a socket with the one that it is connected to, where the image has that. */
static void join(struct descriptors *list, size_t i) {
    struct socket_state *state = list->at[i].state;
    for (size_t j = i + 1; j < list->n; j++) {
        struct socket_state *peer = list->at[j].state;
        if (list->at[j].kind != DESCRIPTOR_SOCKET || !peer || peer->role != SOCKET_ORPHANED ||
            peer->type != state->type || !is_same(&state->other, state->other_bytes, &peer->own, peer->own_bytes) ||
            !is_same(&peer->other, peer->other_bytes, &state->own, state->own_bytes))
            continue;
        state->role = peer->role = SOCKET_PAIRED;
        state->peer = j;
        peer->peer = i;
        return;
    }
}

static bool has_peer(const struct descriptors *list, size_t i) {
    const struct socket_state *state = list->at[i].kind == DESCRIPTOR_SOCKET ? list->at[i].state : NULL;
    return state && state->role == SOCKET_ORPHANED;
}

int sockets_dump(struct descriptors_source *source, struct descriptors *list) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_SOCKET && descriptor_is_first(list, i))
            r = look_at(source, &list->at[i]);
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (has_peer(list, i))
            r = read_other(source, &list->at[i]);
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (has_peer(list, i))
            join(list, i);
    return r;
}
