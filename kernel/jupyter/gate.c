/*
 * gate.c - recv(2) for libzmq, with an account for each connection.
 *
 * A peer is found by its descriptor, and by the socket's cookie told from an
 * earlier one with the same number, for libzmq does not tell when it closes one.
 * A sum of all costs is kept as they change; over the bound the largest ones are
 * ended until it holds. An ended peer reads 0 bytes from then on, which libzmq
 * takes for a hang-up.
 *
 * Only libzmq's I/O thread touches peers; a door is written before it is counted,
 * atomically. Nothing here takes memory. If a libzmq reads another way than through
 * recv(), no cap holds: gate_check() says so.
 */

#include "gate.h"

#include "kernel/base/pace.h"
#include "kernel/jupyter/cookie.h"
#include "kernel/jupyter/identities.h"
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
    PEERS_MAX = 1024,      /* descriptors above it are not let in */
    DOORS_MAX = CHANNEL_N, /* one an endpoint */
    FRAME_COSTS = 64,      /* bytes of a zmq_msg_t */
    READ_COSTS = 20 << 10, /* of the buffer of one read, which any frame in it holds: 8 KiB, and 40 bytes a frame */
    LINES_PER_SECOND = 1,  /* of the log, for any peer could fill it */
    LINES_BURST = 64,
    TOPIC_COSTS = 32, /* of a byte of a topic: a node of a tree */
};

#define SMALL_BYTES ((uint64_t)4 << 10)

/*
 * A request has frames to spare, so that one with some too many is still named
 * in the log (message_default_caps). A heartbeat is a word, and a subscriber
 * sends topics.
 */
#define REQUESTS                                                                                                       \
    { .frames = 16384, .bytes = (uint64_t)256 << 20 }
const struct gate_limits gate_default_limits = {
    .caps = {[CHANNEL_SHELL] = REQUESTS,
             [CHANNEL_CONTROL] = REQUESTS,
             [CHANNEL_STDIN] = REQUESTS,
             [CHANNEL_IOPUB] = {.frames = 16, .bytes = SMALL_BYTES, .kept_bytes = SMALL_BYTES},
             [CHANNEL_HB] = {.frames = 16, .bytes = SMALL_BYTES}},
    .together_bytes = (uint64_t)288 << 20, /* one request as large as can be, and some room */
    .peers = 512,
    .burst = 256,
    .per_second = 64,
};

/* An endpoint that is watched, by what getsockname(2) says of a connection to it. */
struct door {
    enum channel channel;
    in_port_t port; /* in network order; 0 for a path */
    char path[sizeof((struct sockaddr_un *)0)->sun_path];
};

/* A connection, by its descriptor; what stood there before had another cookie. */
struct peer {
    uint64_t cookie; /* 0: none */
    uint64_t cost;   /* as it is part of gate.together */
    uint64_t reads;  /* of the message that goes on, those that began a frame */
    const struct door *door;
    bool ended;
    struct zmtp zmtp;
    struct identity *identity; /* borrowed; NULL: it claims none, or has not yet */
};

static struct {
    const struct gate_limits *limits;
    const struct log *log;
    atomic_size_t n_doors;
    struct door doors[DOORS_MAX];
    atomic_bool passed;
    uint64_t together; /* bytes */
    unsigned n_peers;  /* some may be gone */
    struct pace come;  /* of the peers, */
    struct pace told;  /* and of the lines of the log */
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
    size_t n = atomic_load(&gate.n_doors);
    const char *colon = strrchr(endpoint, ':');
    struct door door = {.channel = channel};
    if (n == DOORS_MAX || !colon)
        return -EINVAL;
    if (strncmp(endpoint, "ipc://", strlen("ipc://")) == 0)
        (void)snprintf(door.path, sizeof door.path, "%s", endpoint + strlen("ipc://"));
    else
        door.port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (!door.port && !door.path[0])
        return -EINVAL;
    gate.doors[n] = door;
    atomic_store(&gate.n_doors, n + 1);
    return 0;
}

void gate_close(void) {
    atomic_store(&gate.n_doors, 0);
    gate_prepare(NULL, NULL);
    memset(gate.peers, 0, sizeof gate.peers);
    identities_clear();
    gate.n_peers = 0;
    gate.come = gate.told = (struct pace){0};
    gate.together = 0;
}

void gate_check(void) {
    if (!atomic_exchange(&gate.passed, true) && gate.log)
        log_write(gate.log, LOG_LEVEL_ERROR,
                  "this libzmq does not read through petri's recv(2): what its peers make it keep is not bounded");
}

/* The door that a connection has come through; NULL for any other descriptor of the process. */
static const struct door *find_door(int fd, size_t n_doors) {
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
    for (size_t i = 0; i < n_doors; i++) {
        const struct door *door = &gate.doors[i];
        if (door->port ? door->port == port : path[0] && strcmp(door->path, path) == 0)
            return door;
    }
    return NULL;
}

static void forget_peer(struct peer *peer) {
    gate.together -= peer->cost;
    gate.n_peers -= peer->cookie != 0;
    *peer = (struct peer){0};
}

/* Forgets peers that have hung up: libzmq does not tell when it closes a descriptor. */
static void sweep(void) {
    for (int fd = 0; fd < PEERS_MAX; fd++)
        if (gate.peers[fd].cookie && gate.peers[fd].cookie != cookie_of(fd))
            forget_peer(&gate.peers[fd]);
}

static void end_peer(struct peer *peer, const char *why) {
    const struct door *door = peer->door;
    peer->ended = true;
    gate.together -= peer->cost;
    peer->cost = 0;
    if (gate.log && pace_allows(&gate.told, LINES_PER_SECOND, LINES_BURST))
        log_write(gate.log, LOG_LEVEL_WARNING, "%s; the connection to the %s port was ended", why,
                  channel_names[door->channel]);
}

/* The peer behind a descriptor; NULL where it can't be let in. */
static struct peer *find_peer(int fd, const struct door *door) {
    uint64_t cookie = cookie_of(fd);
    if (fd >= PEERS_MAX || !cookie)
        return NULL;
    struct peer *peer = &gate.peers[fd];
    if (peer->cookie == cookie)
        return peer;
    forget_peer(peer);
    if (gate.n_peers >= gate.limits->peers)
        sweep();
    gate.n_peers++;
    *peer = (struct peer){.cookie = cookie, .door = door};
    if (gate.n_peers > gate.limits->peers)
        end_peer(peer, "there are too many peers");
    else if (!pace_allows(&gate.come, gate.limits->per_second, gate.limits->burst))
        /* What libzmq keeps of a peer that has gone stays until the kernel's loop takes it. */
        end_peer(peer, "too many peers come at once");
    return peer;
}

static uint64_t cost_of(const struct peer *peer) {
    const struct zmtp *zmtp = &peer->zmtp;
    bool keeps = gate.limits->caps[peer->door->channel].kept_bytes > 0;
    return zmtp->bytes + zmtp->frames * FRAME_COSTS + peer->reads * READ_COSTS + (keeps ? zmtp->kept * TOPIC_COSTS : 0);
}

/* Puts a routing id of ours in the place of what has come of the peer's identity. A sentence where there is none. */
static const char *rename_peer(int fd, struct peer *peer, unsigned char *data) {
    const struct zmtp *zmtp = &peer->zmtp;
    if (!peer->identity)
        peer->identity = identities_begin(fd, peer->cookie, peer->door->channel, zmtp->identity_bytes);
    if (!peer->identity)
        return "there are too many peers with identities as short as this one's";
    identities_take(peer->identity, zmtp->identity_come - zmtp->part_n, data + zmtp->part_at, zmtp->part_n);
    return NULL;
}

/* Counts what was read, and what it costs. A sentence where it is too much for one connection, else NULL. */
static const char *count_read(struct peer *peer, const void *data, size_t n) {
    struct zmtp *zmtp = &peer->zmtp;
    const struct gate_caps *caps = &gate.limits->caps[peer->door->channel];
    uint64_t begun = zmtp->begun, messages = zmtp->messages;
    if (zmtp_count(zmtp, data, n) < 0)
        return "a peer does not speak ZMTP 2.0 or later, or says of itself what is not allowed";
    if (zmtp->messages != messages || zmtp->frames == 0)
        peer->reads = 0;
    peer->reads += zmtp->frames > 0 && zmtp->begun != begun;
    gate.together -= peer->cost;
    peer->cost = cost_of(peer);
    gate.together += peer->cost;
    if (zmtp->frames > caps->frames)
        return "a message was dropped: it has too many frames";
    if (zmtp->bytes > caps->bytes)
        return "a message was dropped: it is too large";
    if (caps->kept_bytes && !zmtp->curve && zmtp->kept > caps->kept_bytes)
        return "a peer has subscribed to too much";
    return NULL;
}

/* Ends the peers that keep most, until the others are within bounds. */
static void keep_together(void) {
    if (gate.together <= gate.limits->together_bytes)
        return;
    sweep();
    while (gate.together > gate.limits->together_bytes) {
        int most = 0;
        for (int fd = 1; fd < PEERS_MAX; fd++)
            if (gate.peers[fd].cost > gate.peers[most].cost)
                most = fd;
        assert(gate.peers[most].cost > 0); /* together is their sum */
        end_peer(&gate.peers[most], "a peer keeps most of what all connections may");
        /* Its descriptor is still this socket: only this thread closes it. libzmq reads the end, and drops the rest. */
        (void)shutdown(most, SHUT_RDWR);
    }
}

/* What libzmq gets as the result of reading n bytes: 0, the end of the stream, for a peer that is to be ended. */
static ssize_t judge(int fd, const struct door *door, void *data, ssize_t n) {
    struct peer *peer = find_peer(fd, door);
    if (!peer || peer->ended)
        return 0;
    if (n <= 0)
        return n;
    atomic_store_explicit(&gate.passed, true, memory_order_relaxed);
    const char *why = count_read(peer, data, (size_t)n);
    if (!why && peer->zmtp.part_n > 0)
        why = rename_peer(fd, peer, data);
    if (why)
        end_peer(peer, why);
    else
        keep_together();
    return peer->ended ? 0 : n;
}

/*
 * libzmq reads its connections with this function, and nothing else in the
 * process has descriptors that come through a door. Being the program's own it
 * is found before libc's.
 */
__attribute__((visibility("default"))) ssize_t recv(int fd, void *buf, size_t n, int flags) {
    ssize_t got = syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL);
    size_t n_doors = atomic_load(&gate.n_doors);
    const struct door *door = NULL;
    if (n_doors > 0 && !(flags & MSG_PEEK)) {
        int err = errno;
        door = find_door(fd, n_doors);
        got = door ? judge(fd, door, buf, got) : got;
        errno = err;
    }
    return got;
}
