/*
 * listeners.c - binds and listens as libzmq would, endpoint by endpoint.
 *
 * What libzmq takes for an address is taken here: numbers, * for all addresses and
 * the name of a network interface, but no host name, which somebody else may
 * answer. Where there is IPv6, * and :: stand for both families.
 *
 * A socket in the file system can only be checked by its path, because bind(2)
 * takes a path: a user who can write to its folder could replace it between the
 * check and the bind. So a folder is refused where every user may create files
 * and remove those of others. A name that begins with @ is in no file system.
 */

#include "listeners.h"

#include "kernel/base/clock.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define IPC "ipc://"
#define TCP "tcp://"

enum { BACKLOG = 100 }; /* libzmq's */

/* iopub is the first, so that a client that can send a request can already subscribe. */
static const enum channel order[] = {CHANNEL_IOPUB, CHANNEL_STDIN, CHANNEL_CONTROL, CHANNEL_SHELL, CHANNEL_HB};
_Static_assert(sizeof order / sizeof order[0] == CHANNEL_N, "each channel listens");

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un un;
};

struct place {
    union address address;
    socklen_t bytes;
};

/* In the file system */

/* The path of an endpoint's socket; NULL for one that is in no file system. */
static const char *file_of(const char *endpoint) {
    const char *path = endpoint + strlen(IPC);
    return strncmp(endpoint, IPC, strlen(IPC)) == 0 && path[0] != '@' ? path : NULL;
}

static int check_place(const char *endpoint, const char *path, struct error *ret_error) {
    char folder[sizeof((struct connection *)0)->endpoint[0]];
    struct stat st;
    if (lstat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
        return error_set(ret_error, EEXIST, "%s can't be bound: something is there that is no socket", endpoint);
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    if (stat(slash ? folder : ".", &st) == 0 && st.st_mode & S_IWOTH && !(st.st_mode & S_ISVTX))
        return error_set(ret_error, EPERM,
                         "%s can't be bound: everybody can write to its folder and replace what is there", endpoint);
    return 0;
}

static int find_local(const char *path, struct place *ret) {
    struct place place = {.address.un.sun_family = AF_UNIX};
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof place.address.un.sun_path)
        return n ? -ENAMETOOLONG : -EINVAL;
    memcpy(place.address.un.sun_path, path, n);
    if (path[0] == '@')
        place.address.un.sun_path[0] = '\0';
    place.bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    *ret = place;
    return 0;
}

/* In the network */

static int take_address(const struct sockaddr *address, struct place *ret) {
    if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
        return -EAFNOSUPPORT;
    struct place place = {.bytes = address->sa_family == AF_INET ? sizeof place.address.v4 : sizeof place.address.v6};
    memcpy(&place.address, address, place.bytes);
    *ret = place;
    return 0;
}

static int find_number(const char *host, struct place *ret) {
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(host, NULL, &hints, &found))
        return -ENODEV;
    int r = take_address(found->ai_addr, ret);
    freeaddrinfo(found);
    return r;
}

/* The first address of an interface: Linux lists those of IPv4 first. */
static int find_interface(const char *name, struct place *ret) {
    struct ifaddrs *all;
    int r = -ENODEV;
    if (getifaddrs(&all))
        return -errno;
    for (const struct ifaddrs *entry = all; entry && r < 0; entry = entry->ifa_next)
        if (entry->ifa_addr && strcmp(entry->ifa_name, name) == 0)
            r = take_address(entry->ifa_addr, ret);
    freeifaddrs(all);
    return r == -EAFNOSUPPORT ? -ENODEV : r;
}

static int find_host(const char *host, struct place *ret) {
    if (strcmp(host, "*") == 0) {
        const struct sockaddr_in6 all = {.sin6_family = AF_INET6, .sin6_addr = in6addr_any};
        return take_address((const struct sockaddr *)&all, ret);
    }
    int r = find_number(host, ret);
    return r < 0 ? find_interface(host, ret) : r;
}

/* endpoint: tcp://HOST:PORT, where HOST may stand in brackets. */
static int find_remote(const char *endpoint, int port, struct place *ret) {
    char host[sizeof((struct connection *)0)->endpoint[0]];
    const char *begin = endpoint + strlen(TCP), *end = strrchr(begin, ':');
    if (!end)
        return -EINVAL;
    if (begin[0] == '[' && end[-1] == ']') {
        begin++;
        end--;
    }
    snprintf(host, sizeof host, "%.*s", (int)(end - begin), begin);
    struct place place;
    int r = find_host(host, &place);
    if (r < 0)
        return r;
    /* At the same place in an address of either family. */
    place.address.v4.sin_port = htons((uint16_t)port);
    *ret = place;
    return 0;
}
_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "see find_remote()");

/* The port that Linux has chosen. */
static int note_port(int fd, struct connection *connection, enum channel channel) {
    union address address = {0};
    socklen_t bytes = sizeof address;
    char *endpoint = connection->endpoint[channel];
    if (getsockname(fd, &address.any, &bytes) < 0)
        return -errno;
    char *number = strrchr(endpoint, ':') + 1;
    connection->port[channel] = ntohs(address.v4.sin_port);
    snprintf(number, sizeof connection->endpoint[channel] - (size_t)(number - endpoint), "%d",
             connection->port[channel]);
    return 0;
}

/* Both */

static int open_socket(struct place *place) {
    const int type = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    int fd = socket(place->address.any.sa_family, type, 0);
    if (fd < 0 && errno == EAFNOSUPPORT && place->address.any.sa_family == AF_INET6 &&
        IN6_IS_ADDR_UNSPECIFIED(&place->address.v6.sin6_addr)) {
        /* Without IPv6, all addresses are those of IPv4. */
        const in_port_t port = place->address.v6.sin6_port;
        *place =
            (struct place){.address.v4 = {.sin_family = AF_INET, .sin_port = port}, .bytes = sizeof place->address.v4};
        fd = socket(AF_INET, type, 0);
    }
    return fd < 0 ? -errno : fd;
}

static int set_options(int fd, sa_family_t family) {
    const int yes = 1, no = 0;
    if (family != AF_UNIX && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0)
        return -errno;
    if (family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) < 0)
        return -errno;
    return 0;
}

/* With a umask of 0177: to connect to a socket in the file system, another user would need write permission. */
static int bind_for_owner(int fd, const struct place *place) {
    mode_t before = umask(0177);
    int r = bind(fd, &place->address.any, place->bytes) < 0 ? -errno : 0;
    umask(before);
    return r;
}

/* A socket that listens, or -errno. */
static int listen_at(struct place *place) {
    auto_fd fd = open_socket(place);
    int r = fd < 0 ? fd : set_options(fd, place->address.any.sa_family);
    if (r == 0)
        r = bind_for_owner(fd, place);
    if (r == 0 && listen(fd, BACKLOG) < 0)
        r = -errno;
    return r < 0 ? r : steal_fd(&fd);
}

static int find_place(const struct connection *connection, enum channel channel, struct place *ret) {
    const char *endpoint = connection->endpoint[channel];
    if (strncmp(endpoint, IPC, strlen(IPC)) == 0)
        return find_local(endpoint + strlen(IPC), ret);
    return find_remote(endpoint, connection->port[channel], ret);
}

/* As listen_at(), but an address that is taken is tried again until deadline_us of clock_us(). */
static int listen_when_free(struct place *place, int64_t deadline_us) {
    static const struct timespec nap = {.tv_nsec = 1000000};
    int fd = listen_at(place);
    while (fd == -EADDRINUSE && clock_us() < deadline_us) {
        nanosleep(&nap, NULL);
        fd = listen_at(place);
    }
    return fd;
}

static int open_listener(struct connection *connection, enum channel channel, int64_t deadline_us, struct listener *ret,
                         struct error *ret_error) {
    const char *endpoint = connection->endpoint[channel];
    const char *path = file_of(endpoint);
    struct place place;
    int r = path ? check_place(endpoint, path, ret_error) : 0;
    if (r < 0)
        return r;
    r = find_place(connection, channel, &place);
    if (r == 0 && path)
        (void)unlink(path);
    auto_fd fd = r < 0 ? r : listen_when_free(&place, deadline_us);
    r = fd < 0 ? fd : 0;
    if (r == 0 && connection->port[channel] == 0)
        r = note_port(fd, connection, channel);
    if (r < 0)
        return error_set(ret_error, -r, "%s can't be bound: %s", endpoint, strerror(-r));
    *ret = (struct listener){.listens = true, .fd = steal_fd(&fd)};
    return 0;
}

int listeners_open(struct connection *connection, int64_t patience_us, struct listeners *ret, struct error *ret_error) {
    const int64_t deadline_us = clock_us() + patience_us;
    struct listeners listeners = {0};
    for (size_t i = 0; i < CHANNEL_N; i++) {
        int r = open_listener(connection, order[i], deadline_us, &listeners.of[order[i]], ret_error);
        if (r < 0) {
            listeners_close(&listeners, connection);
            return r;
        }
    }
    *ret = listeners;
    return 0;
}

void listeners_fds(const struct listeners *listeners, int ret_fds[LISTENERS_FDS]) {
    size_t n = 0;
    for (size_t i = 0; i < CHANNEL_N; i++)
        if (listeners->of[i].listens && listeners->of[i].fd >= 0)
            ret_fds[n++] = listeners->of[i].fd;
    ret_fds[n] = -1;
}

void listeners_close(struct listeners *listeners, const struct connection *connection) {
    for (size_t i = 0; i < CHANNEL_N; i++) {
        const char *path = file_of(connection->endpoint[i]);
        if (!listeners->of[i].listens)
            continue;
        close_fd(&listeners->of[i].fd);
        if (path)
            (void)unlink(path);
    }
    *listeners = (struct listeners){0};
}
