/*
 * sockets_restore.c - making sockets for a cell, and filling them.
 *
 * Pairs are made by socketpair(2) and filled through their other sides; a single
 * one gets its options before it is bound, its name before it listens. A socket
 * at a path takes the place of the socket file there: that one was bound in an
 * earlier sandbox, and no process listens there. Where the path can't be had the
 * socket gets a name that Linux chooses, so that it can listen, though no client
 * can find it.
 */
#define _GNU_SOURCE
#include "sandbox/descriptors/sockets.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* Where in the scratch memory addresses, paths and results of stat are. */
enum { ADDRESS_AT = 0, PATH_AT = 256, STAT_AT = 512 };

/* Sends a piece; where the buffer is too small for it, once it has all the room that a user may have. */
static int send_piece(int fd, const char *piece, uint32_t bytes) {
    const int room = 1 << 30;
    uint32_t sent = 0;
    for (int tries = 0; tries < 2; tries++) {
        ssize_t n = send(fd, piece + sent, bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? (uint32_t)n : 0;
        if (n >= 0 && sent == bytes)
            return 0;
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    }
    return -ENOBUFS;
}

/* Sends what had waited in a socket from its other side. */
static int fill(int other_fd, const struct socket_state *state) {
    const char *piece;
    uint32_t bytes;
    int r = 0;
    for (size_t at = 0; r == 0 && (piece = content_next(&state->content, &at, &bytes));)
        r = send_piece(other_fd, piece, bytes);
    return r;
}

int sockets_try(const struct socket_state *state) {
    int pair[2];
    if (socketpair(AF_UNIX, state->type | SOCK_CLOEXEC, 0, pair))
        return -errno;
    int r = fill(pair[1], state);
    for (int k = 0; k < 2; k++)
        close(pair[k]);
    return r;
}

static int make_pair(struct restorer *restorer, int type, int made[2]) {
    int r = restorer_add(restorer, (struct inject_call){.number = SYS_socketpair,
                                                        .argument = {AF_UNIX, (uint64_t)(type | SOCK_CLOEXEC), 0,
                                                                     restorer_at(restorer, 0)}});
    return r ? r : restorer_get(restorer, 0, made, 2 * sizeof made[0]);
}

/* Both sides of a pair, or one whose other side has hung up. */
static int restore_pair(struct descriptors *list, struct restorer *restorer, size_t i) {
    struct socket_state *state = list->at[i].state;
    struct socket_state *peer = state->role == SOCKET_PAIRED ? list->at[state->peer].state : NULL;
    int made[2], r = make_pair(restorer, state->type, made);
    if (r)
        return r;
    auto_fd side = restorer_take(restorer, made[0]), other = side < 0 ? side : restorer_take(restorer, made[1]);
    if (other < 0)
        return other;
    r = fill(other, state);
    if (r == 0 && peer)
        r = fill(side, peer);
    sockets_set_options(side, state);
    if (peer)
        sockets_set_options(other, peer);
    if (state->at_end)
        (void)shutdown(side, SHUT_RD);
    if (peer && peer->at_end)
        (void)shutdown(other, SHUT_RD);
    if (r == 0)
        r = restorer_place(restorer, list, i, made[0]);
    if (r == 0 && peer)
        r = restorer_place(restorer, list, state->peer, made[1]);
    for (int k = 0; r == 0 && k < 2; k++)
        r = restorer_close(restorer, made[k]);
    return r;
}

/*
 * Replaces the socket at a path, which was bound in an earlier sandbox, and no
 * process listens there any more. If there is none at the path no client could
 * connect before, and none is made.
 */
static int make_way(struct restorer *restorer, const struct socket_state *state, mode_t *ret_mode) {
    const struct sockaddr_un *name = (const struct sockaddr_un *)&state->name;
    char path[sizeof name->sun_path + 1] = "";
    struct stat st;
    memcpy(path, name->sun_path, state->name_bytes - offsetof(struct sockaddr_un, sun_path));
    int r = restorer_put(restorer, PATH_AT, path, sizeof path);
    if (r)
        return r;
    int found =
        restorer_do(restorer, (struct inject_call){.number = SYS_newfstatat,
                                                   .argument = {(uint64_t)AT_FDCWD, restorer_at(restorer, PATH_AT),
                                                                restorer_at(restorer, STAT_AT), AT_SYMLINK_NOFOLLOW}});
    if (found)
        return found == -EUCLEAN ? found : -ENOENT;
    r = restorer_get(restorer, STAT_AT, &st, sizeof st);
    if (r == 0 && !S_ISSOCK(st.st_mode))
        r = -ENOENT;
    if (r)
        return r;
    *ret_mode = st.st_mode & 07777;
    return restorer_do(restorer,
                       (struct inject_call){.number = SYS_unlink, .argument = {restorer_at(restorer, PATH_AT)}});
}

static bool has_path(const struct socket_state *state) {
    return state->domain == AF_UNIX && ((const struct sockaddr_un *)&state->name)->sun_path[0] != 0;
}

/* Gives a socket the name that it had; without its path a Unix socket gets another, so that it can listen. */
static int bind_name(struct restorer *restorer, const struct socket_state *state, int made) {
    const sa_family_t none = AF_UNIX;
    mode_t mode = 0;
    int r = has_path(state) ? make_way(restorer, state, &mode) : 0;
    const bool lost = r == -ENOENT;
    if (r && !lost)
        return r;
    const void *name = lost ? (const void *)&none : &state->name;
    const size_t bytes = lost ? sizeof none : state->name_bytes;
    r = restorer_put(restorer, ADDRESS_AT, name, bytes);
    if (r == 0)
        r = restorer_do(restorer,
                        (struct inject_call){.number = SYS_bind,
                                             .argument = {(uint64_t)made, restorer_at(restorer, ADDRESS_AT), bytes}});
    if (r == 0 && has_path(state) && !lost)
        r = restorer_do(restorer,
                        (struct inject_call){.number = SYS_chmod, .argument = {restorer_at(restorer, PATH_AT), mode}});
    return r;
}

static int restore_single(struct descriptors *list, struct restorer *restorer, size_t i) {
    const struct socket_state *state = list->at[i].state;
    int made = restorer_make(
        restorer, (struct inject_call){.number = SYS_socket,
                                       .argument = {(uint64_t)state->domain, (uint64_t)(state->type | SOCK_CLOEXEC),
                                                    (uint64_t)state->protocol}});
    if (made < 0)
        return made;
    auto_fd fd = restorer_take(restorer, made);
    if (fd < 0)
        return fd;
    sockets_set_options(fd, state);
    int r = state->name_bytes ? bind_name(restorer, state, made) : 0;
    if (r == 0 && state->role == SOCKET_LISTENS)
        r = restorer_do(restorer, (struct inject_call){.number = SYS_listen,
                                                       .argument = {(uint64_t)made, (uint64_t)state->backlog}});
    if (state->at_end)
        (void)shutdown(fd, SHUT_RDWR); /* it says that there is no connection, and then reads as one that is over */
    if (r == 0 && state->role == SOCKET_CONNECTED)
        (void)connect(fd, (const struct sockaddr *)&state->other, state->other_bytes);
    if (r != -EUCLEAN) /* its folder may be gone, the disk full: then no client can connect, and the session goes on */
        r = restorer_place(restorer, list, i, made);
    return r ? r : restorer_close(restorer, made);
}

/* A connection is the image's own: the session's cell has that one, and a cell beside it has none. */
static int restore(struct descriptors *list, struct restorer *restorer, size_t i) {
    const struct socket_state *state = list->at[i].state;
    if (list->at[i].shared)
        return restorer->beside ? restorer_withhold(restorer, list, i) : 0;
    if (state->role == SOCKET_ORPHANED || (state->role == SOCKET_PAIRED && state->peer > i))
        return restore_pair(list, restorer, i);
    return state->role == SOCKET_PAIRED ? 0 : restore_single(list, restorer, i);
}

int sockets_restore(struct descriptors *list, struct restorer *restorer) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n; i++)
        if (list->at[i].kind == DESCRIPTOR_SOCKET && descriptor_is_first(list, i))
            r = restore(list, restorer, i);
    return r;
}
