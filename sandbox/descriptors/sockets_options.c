/*
 * sockets_options.c - the table of options that are carried on, read at the freeze and set where they differ.
 *
 * Only what differs is set: setting an option to the value that it has may still
 * change something, as a buffer's size then stops growing by itself. See: tcp(7),
 * socket(7).
 */
#define _GNU_SOURCE
#include "sandbox/descriptors/sockets.h"

#include <linux/in6.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

/* The options that are carried on; getsockopt(2) fails for those that a socket does not have. */
static const struct {
    int level, name;
    bool is_doubled; /* Linux reports twice what was set */
} options[] = {
    {SOL_SOCKET, SO_REUSEADDR, false},      {SOL_SOCKET, SO_REUSEPORT, false}, {SOL_SOCKET, SO_KEEPALIVE, false},
    {SOL_SOCKET, SO_BROADCAST, false},      {SOL_SOCKET, SO_OOBINLINE, false}, {SOL_SOCKET, SO_LINGER, false},
    {SOL_SOCKET, SO_RCVLOWAT, false},       {SOL_SOCKET, SO_RCVTIMEO, false},  {SOL_SOCKET, SO_SNDTIMEO, false},
    {SOL_SOCKET, SO_SNDBUF, true},          {SOL_SOCKET, SO_RCVBUF, true},     {SOL_SOCKET, SO_PASSCRED, false},
    {SOL_SOCKET, SO_PEEK_OFF, false},       {IPPROTO_TCP, TCP_NODELAY, false}, {IPPROTO_TCP, TCP_KEEPIDLE, false},
    {IPPROTO_TCP, TCP_KEEPINTVL, false},    {IPPROTO_TCP, TCP_KEEPCNT, false}, {IPPROTO_TCP, TCP_DEFER_ACCEPT, false},
    {IPPROTO_TCP, TCP_USER_TIMEOUT, false}, {IPPROTO_IP, IP_TOS, false},       {IPPROTO_IP, IP_TTL, false},
    {IPPROTO_IPV6, IPV6_V6ONLY, false},
};
#define OPTIONS (sizeof options / sizeof options[0])
_Static_assert(OPTIONS <= (size_t)SOCKET_OPTIONS_MAX, "there is room for each");

void sockets_read_options(int fd, struct socket_state *state) {
    for (size_t i = 0; i < OPTIONS; i++) {
        state->option[i].bytes = sizeof state->option[i].value;
        if (getsockopt(fd, options[i].level, options[i].name, state->option[i].value, &state->option[i].bytes))
            state->option[i].bytes = 0;
    }
}

void sockets_set_options(int fd, const struct socket_state *state) {
    for (size_t i = 0; i < OPTIONS; i++) {
        char now[SOCKET_OPTION_BYTES], value[SOCKET_OPTION_BYTES];
        socklen_t bytes = sizeof now, wanted = state->option[i].bytes;
        int number;
        if (wanted == 0 || getsockopt(fd, options[i].level, options[i].name, now, &bytes) ||
            (bytes == wanted && memcmp(now, state->option[i].value, bytes) == 0))
            continue;
        memcpy(value, state->option[i].value, sizeof value);
        if (options[i].is_doubled) {
            memcpy(&number, value, sizeof number);
            number /= 2;
            memcpy(value, &number, sizeof number);
        }
        (void)setsockopt(fd, options[i].level, options[i].name, value, wanted); /* some can be read and not set */
    }
}
