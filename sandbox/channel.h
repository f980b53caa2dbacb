/*
 * channel.h - fixed-size packets with one descriptor, over a Unix socket.
 *
 * See: unix(7), SCM_RIGHTS.
 */
#ifndef PETRI_SANDBOX_CHANNEL_H
#define PETRI_SANDBOX_CHANNEL_H

#include <stddef.h>

/* Sends a packet, with fd where that is not -1. 0 or -errno. */
int channel_send(int socket, const void *data, size_t bytes, int fd);

/* Waits for a packet of exactly bytes. ret_fd is -1 or the caller's. 0, -EPIPE at the end, -EBADMSG, or -errno. */
int channel_receive(int socket, void *data, size_t bytes, int *ret_fd);

#endif
