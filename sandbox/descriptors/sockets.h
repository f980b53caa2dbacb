/*
 * sockets.h - the sockets of an image.
 *
 * A cell's network ends with it, and so do all processes at the other end of its
 * sockets. What remains are sockets that are connected within the image: pairs are
 * made anew, with the data that waits in them, and a listening socket listens at the
 * same address again. A connection whose other side is gone has hung up. An internet
 * connection between two sockets of the image can't be copied: it is shared, and
 * shut down where a cell that was rolled back had used it.
 *
 * See: unix(7), tcp(7), SO_PEEK_OFF in socket(7).
 */
#ifndef PETRI_SANDBOX_DESCRIPTORS_SOCKETS_H
#define PETRI_SANDBOX_DESCRIPTORS_SOCKETS_H

#include "base/cleanup.h"
#include "sandbox/descriptors/content.h"
#include "sandbox/descriptors/descriptor.h"
#include "sandbox/descriptors/restorer.h"

#include <sys/socket.h>

enum { SOCKET_OPTIONS_MAX = 24, SOCKET_OPTION_BYTES = 16 };

enum socket_role {
    SOCKET_PLAIN,    /* bound, perhaps, and no more */
    SOCKET_LISTENS,  /* for connections */
    SOCKET_PAIRED,   /* with another of the image */
    SOCKET_ORPHANED, /* was connected to what the image does not have */
    SOCKET_CONNECTED /* by the internet protocols: it is shared */
};

/* What a socket was, in the first row of its open file. */
struct socket_state {
    int domain, type, protocol;
    enum socket_role role;
    size_t peer; /* of a pair: its other side's row */
    bool given;  /* of a pair: with its other side */
    bool at_end; /* nothing can come any more */
    int backlog; /* of one that listens */
    struct sockaddr_storage name;
    socklen_t name_bytes;               /* 0 where it was not bound */
    struct sockaddr_storage own, other; /* of one that is connected: how pairs find each other */
    socklen_t own_bytes, other_bytes;
    struct content content;
    struct socket_traffic {
        uint64_t sent, received, unread;
        int state;
    } traffic; /* of an internet connection */
    struct {
        socklen_t bytes; /* 0 where there is no such option */
        char value[SOCKET_OPTION_BYTES];
    } option[SOCKET_OPTIONS_MAX];
};

int sockets_dump(struct descriptors_source *source, struct descriptors *list) MUST_CHECK;
int sockets_restore(struct descriptors *list, struct restorer *restorer) MUST_CHECK;
void sockets_fini(struct descriptor *descriptor);
size_t sockets_bytes(const struct descriptor *descriptor);

/*
 * Hangs up a connection that a rolled-back cell has used: what it has read and
 * written can't be taken back. Of one that it hasn't, the options are put back.
 * 0.
 */
int sockets_put_back(const struct descriptor *descriptor, int fd);

/*
 * An image is kept that the session leaves: its keeper closes the connections that cells share with it, or none would
 * ever hang up. Where the session comes back to it they have. list and keeper: of the image. 0 or -errno.
 */
int sockets_leave(struct descriptors *list, const struct inject_task *keeper) MUST_CHECK;

/* Whether a new pair takes what was recorded: tried on one of our own. 0, -ENOBUFS where it doesn't, or -errno. */
int sockets_try(const struct socket_state *state) MUST_CHECK;

/* Reads the options of a socket of ours, or sets those that are not as they were. See: sockets_options.c. */
void sockets_read_options(int fd, struct socket_state *state);
void sockets_set_options(int fd, const struct socket_state *state);

#endif
