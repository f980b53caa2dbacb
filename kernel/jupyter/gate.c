/*
 * gate.c - recv(2) for libzmq, which counts what each connection makes libzmq keep, and send(2), which counts what
 * each subscriber takes.
 *
 * A peer is found by its descriptor. libzmq does not say when it closes one, so
 * the socket's cookie says whether the descriptor has been reused. The sum of all
 * costs is updated with each; over the bound, the peers with the greatest cost
 * are ended until the sum is within it. For an ended peer recv() returns 0, which
 * means end of file to libzmq.
 *
 * Only libzmq's I/O thread uses the peers. A listener is written before the
 * atomic n_listeners includes it. Nothing here allocates memory. If a version of
 * libzmq does not read with recv(), no cap is enforced, and gate_check() logs
 * that.
 */

#include "gate.h"

#include "kernel/base/pace.h"
#include "kernel/jupyter/cookie.h"
#include "kernel/jupyter/identities.h"
#include "kernel/jupyter/subscribers.h"
#include "protocol/zmtp.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    PEERS_MAX = 1024,          /* connections with higher descriptors are ended */
    LISTENERS_MAX = CHANNEL_N, /* one for each endpoint */
    FRAME_COSTS = 64,          /* bytes of a zmq_msg_t */
    READ_COSTS = 20 << 10, /* bytes of the buffer of one read, kept as long as any frame in it: 8 KiB, and 40 bytes for
                              each frame */
    LINES_PER_SECOND = 1,  /* of the log, because anybody who can connect causes them */
    LINES_BURST = 64,
    TOPIC_COSTS = 32, /* bytes for each byte of a topic: a node of a tree */
};

#define SMALL_BYTES ((uint64_t)4 << 10)

/*
 * A request may have more frames than message_default_caps allows, so that one
 * with a few too many is received and named in the log. A heartbeat is short, and
 * a subscriber sends only topics.
 */
#define REQUESTS                                                                                                       \
    { .frames = 16384, .bytes = (uint64_t)256 << 20 }
const struct gate_limits gate_default_limits = {
    .caps = {[CHANNEL_SHELL] = REQUESTS,
             [CHANNEL_CONTROL] = REQUESTS,
             [CHANNEL_STDIN] = REQUESTS,
             [CHANNEL_IOPUB] = {.frames = 16, .bytes = SMALL_BYTES, .kept_bytes = SMALL_BYTES},
             [CHANNEL_HB] = {.frames = 16, .bytes = SMALL_BYTES}},
    .together_bytes = (uint64_t)288 << 20, /* one request of the greatest size, and some more */
    .peers = 512,
    .burst = 256,
    .per_second = 64,
};

/* An endpoint whose connections are counted, identified by getsockname(2) of a connection. */
struct listener {
    enum channel channel;
    in_port_t port; /* in network order; 0 for a path */
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

/* A connection, at the index of its descriptor; the cookie says whether the descriptor has been reused. */
struct peer {
    uint64_t cookie; /* 0: none */
    uint64_t cost;   /* its part of gate.total */
    uint64_t reads;  /* reads of the current message in which a frame began */
    const struct listener *listener;
    bool ended;
    struct zmtp zmtp;
    struct identity *identity; /* borrowed; NULL: the peer has sent none, or not yet */
};

static struct {
    const struct gate_limits *limits;
    const struct log *log;
    atomic_size_t n_listeners;
    struct listener listeners[LISTENERS_MAX];
    atomic_bool has_read;
    uint64_t total;       /* bytes */
    unsigned n_peers;     /* some may have closed */
    struct pace accepted; /* of new peers */
    struct pace logged;   /* of lines in the log */
    struct peer peers[PEERS_MAX];
} gate = {.limits = &gate_default_limits};

static const char *const channel_names[CHANNEL_N] = {[CHANNEL_SHELL] = "shell",
                                                     [CHANNEL_CONTROL] = "control",
                                                     [CHANNEL_IOPUB] = "iopub",
                                                     [CHANNEL_STDIN] = "stdin",
                                                     [CHANNEL_HB] = "heartbeat"};

void gate_prepare(const struct gate_limits *limits, const struct log *log) {
    gate.limits = limits ? limits : &gate_default_limits;
    gate.log = log;
}

int gate_open(enum channel channel, const char *endpoint) {
    size_t n = atomic_load(&gate.n_listeners);
    const char *colon = strrchr(endpoint, ':');
    struct listener listener = {.channel = channel};
    if (n == LISTENERS_MAX || !colon)
        return -EINVAL;
    if (strncmp(endpoint, "ipc://", strlen("ipc://")) == 0)
        (void)snprintf(listener.path, sizeof listener.path, "%s", endpoint + strlen("ipc://"));
    else
        listener.port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (!listener.port && !listener.path[0])
        return -EINVAL;
    gate.listeners[n] = listener;
    atomic_store(&gate.n_listeners, n + 1);
    return 0;
}

void gate_close(void) {
    atomic_store(&gate.n_listeners, 0);
    gate_prepare(NULL, NULL);
    memset(gate.peers, 0, sizeof gate.peers);
    identities_clear();
    subscribers_clear();
    gate.n_peers = 0;
    gate.accepted = gate.logged = (struct pace){0};
    gate.total = 0;
}

void gate_check(void) {
    if (!atomic_exchange(&gate.has_read, true) && gate.log)
        log_write(
            gate.log, LOG_LEVEL_ERROR,
            "libzmq does not read through petri's recv(2): the memory that its peers can make it use is not bounded");
}

/* The listener of a connection; NULL for any other descriptor of the process. */
static const struct listener *find_listener(int fd, size_t n_listeners) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un un;
        char end[sizeof(struct sockaddr_un) + 1];
    } name = {0};
    socklen_t bytes = sizeof name.un;
    if (getsockname(fd, &name.any, &bytes) < 0)
        return NULL;
    sa_family_t family = name.any.sa_family;
    in_port_t port = family == AF_INET ? name.v4.sin_port : family == AF_INET6 ? name.v6.sin6_port : 0;
    const char *path = family == AF_UNIX && bytes > sizeof family ? name.un.sun_path : "";
    for (size_t i = 0; i < n_listeners; i++) {
        const struct listener *listener = &gate.listeners[i];
        if (listener->port ? listener->port == port : path[0] && strcmp(listener->path, path) == 0)
            return listener;
    }
    return NULL;
}

static void forget_peer(struct peer *peer) {
    gate.total -= peer->cost;
    gate.n_peers -= peer->cookie != 0;
    *peer = (struct peer){0};
}

/* Forgets the peers whose connection is closed: libzmq does not say when it closes a descriptor. */
static void forget_closed(void) {
    for (int fd = 0; fd < PEERS_MAX; fd++)
        if (gate.peers[fd].cookie && gate.peers[fd].cookie != cookie_of(fd))
            forget_peer(&gate.peers[fd]);
}

static void end_peer(struct peer *peer, const char *why) {
    const struct listener *listener = peer->listener;
    peer->ended = true;
    gate.total -= peer->cost;
    peer->cost = 0;
    if (gate.log && pace_allows(&gate.logged, LINES_PER_SECOND, LINES_BURST))
        log_write(gate.log, LOG_LEVEL_WARNING, "%s; the connection to the %s port was ended", why,
                  channel_names[listener->channel]);
}

/* The peer of a descriptor, which is a new one if its cookie is new; NULL where it can't be counted. */
static struct peer *find_peer(int fd, const struct listener *listener) {
    uint64_t cookie = cookie_of(fd);
    if (fd >= PEERS_MAX || !cookie)
        return NULL;
    struct peer *peer = &gate.peers[fd];
    if (peer->cookie == cookie)
        return peer;
    forget_peer(peer);
    if (gate.n_peers >= gate.limits->peers)
        forget_closed();
    gate.n_peers++;
    *peer = (struct peer){.cookie = cookie, .listener = listener};
    if (gate.n_peers > gate.limits->peers)
        end_peer(peer, "there are too many peers");
    else if (!pace_allows(&gate.accepted, gate.limits->per_second, gate.limits->burst))
        /* libzmq keeps the memory of a closed connection until the kernel's loop handles that. */
        end_peer(peer, "too many peers come at once");
    return peer;
}

static uint64_t cost_of(const struct peer *peer) {
    const struct zmtp *zmtp = &peer->zmtp;
    bool keeps = gate.limits->caps[peer->listener->channel].kept_bytes > 0;
    return zmtp->bytes + zmtp->frames * FRAME_COSTS + peer->reads * READ_COSTS + (keeps ? zmtp->kept * TOPIC_COSTS : 0);
}

/*
 * Replaces the part of the peer's identity in this read by a routing id.
 * Returns a sentence where none is free, else NULL.
 */
static const char *rename_peer(int fd, struct peer *peer, unsigned char *data) {
    const struct zmtp *zmtp = &peer->zmtp;
    if (!peer->identity)
        peer->identity = identities_begin(fd, peer->cookie, peer->listener->channel, zmtp->identity_bytes);
    if (!peer->identity)
        return "there are too many peers with identities as short as this one's";
    identities_take(peer->identity, zmtp->identity_received - zmtp->part_n, data + zmtp->part_at, zmtp->part_n);
    return NULL;
}

/* Counts what was read, and its cost. Returns a sentence where that is too much for one connection, else NULL. */
static const char *count_read(struct peer *peer, const void *data, size_t n) {
    struct zmtp *zmtp = &peer->zmtp;
    const struct gate_caps *caps = &gate.limits->caps[peer->listener->channel];
    uint64_t begun = zmtp->begun, messages = zmtp->messages;
    if (zmtp_count(zmtp, data, n) < 0)
        return "a peer does not speak ZMTP 2.0 or later, or its handshake is not allowed";
    if (zmtp->messages != messages || zmtp->frames == 0)
        peer->reads = 0;
    peer->reads += zmtp->frames > 0 && zmtp->begun != begun;
    gate.total -= peer->cost;
    peer->cost = cost_of(peer);
    gate.total += peer->cost;
    if (zmtp->frames > caps->frames)
        return "a message was dropped: it has too many frames";
    if (zmtp->bytes > caps->bytes)
        return "a message was dropped: it is too large";
    if (caps->kept_bytes && !zmtp->curve && zmtp->kept > caps->kept_bytes)
        return "a peer has subscribed to too much";
    return NULL;
}

/* Ends the peers with the greatest cost, until the sum is within its bound. */
static void bound_total(void) {
    if (gate.total <= gate.limits->together_bytes)
        return;
    forget_closed();
    while (gate.total > gate.limits->together_bytes) {
        int most = 0;
        for (int fd = 1; fd < PEERS_MAX; fd++)
            if (gate.peers[fd].cost > gate.peers[most].cost)
                most = fd;
        assert(gate.peers[most].cost > 0); /* total is their sum */
        end_peer(&gate.peers[most], "all connections together use too much memory, and this one the most");
        /*
         * The descriptor is still this socket, because only this
         * thread closes it. libzmq reads end of file, and frees what
         * it kept.
         */
        (void)shutdown(most, SHUT_RDWR);
    }
}

/* What recv() returns to libzmq after n bytes were read: n, or 0 (end of file) where the peer is ended. */
static ssize_t filter_read(int fd, const struct listener *listener, void *data, ssize_t n) {
    struct peer *peer = find_peer(fd, listener);
    if (!peer || peer->ended)
        return 0;
    if (n <= 0)
        return n;
    atomic_store_explicit(&gate.has_read, true, memory_order_relaxed);
    const char *why = count_read(peer, data, (size_t)n);
    if (!why && peer->zmtp.part_n > 0)
        why = rename_peer(fd, peer, data);
    if (why)
        end_peer(peer, why);
    else
        bound_total();
    return peer->ended ? 0 : n;
}

/*
 * libzmq reads its connections with this function, and no other part of the
 * process has connections to a listener. The dynamic linker finds it before
 * libc's, because it is the program's own.
 */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *buf, size_t n, int flags) {
    ssize_t got = syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL);
    size_t n_listeners = atomic_load(&gate.n_listeners);
    const struct listener *listener = NULL;
    if (n_listeners > 0 && !(flags & MSG_PEEK)) {
        int err = errno;
        listener = find_listener(fd, n_listeners);
        got = listener ? filter_read(fd, listener, buf, got) : got;
        errno = err;
    }
    return got;
}

/* libzmq sends with this one. */
__attribute__((visibility("default"))) ssize_t send(int fd, const void *buf, size_t n, int flags) {
    ssize_t sent = syscall(SYS_sendto, fd, buf, n, flags, NULL, 0);
    size_t n_listeners = atomic_load(&gate.n_listeners);
    if (n_listeners > 0) {
        int err = errno;
        const struct listener *listener = find_listener(fd, n_listeners);
        if (listener && listener->channel == CHANNEL_IOPUB)
            subscribers_sent(fd, cookie_of(fd), sent);
        errno = err;
    }
    return sent;
}
