/*
 * listeners.h - the sockets that clients connect to, one for each channel, before libzmq gets them.
 *
 * A client of libzmq's that is refused tries again after 100 ms. So the sockets
 * listen as soon as the connection file is read, and Linux keeps who comes too
 * early (listen(2), "backlog"); libzmq can't do that, because its threads must not
 * exist before the kernel has its namespaces.
 *
 * See: tcp(7), unix(7).
 */
#ifndef PETRI_LISTENERS_H
#define PETRI_LISTENERS_H

#include "base/cleanup.h"
#include "base/error.h"
#include "protocol/connection.h"

#include <stdbool.h>
#include <stdint.h>

struct listener {
    bool listens;
    int fd; /* close-on-exec; -1 once it is given away */
};

struct listeners {
    struct listener of[CHANNEL_N];
};

/*
 * Binds and listens at each endpoint of connection. Where it leaves a port open,
 * Linux chooses it, and port and endpoint are noted in connection. Only the user
 * can connect to a socket in the file system. It takes the place of an old one,
 * and is refused where something else is, or where every user could replace it.
 * A taken address is tried again for patience_us in all. 0, or -errno with a
 * sentence in ret_error, and then there is none. Changes the umask for a moment.
 */
int listeners_open(struct connection *connection, int64_t patience_us, struct listeners *ret,
                   struct error *ret_error) MUST_CHECK;

/* The descriptors of those that listen and are not given away, and -1. */
enum { LISTENERS_FDS = CHANNEL_N + 1 };
void listeners_fds(const struct listeners *listeners, int ret_fds[LISTENERS_FDS]);

/*
 * Closes those that are not given away, and removes from the file system what was made there.
 * connection is the one that they were opened for. All zero is allowed.
 */
void listeners_close(struct listeners *listeners, const struct connection *connection);

#endif
