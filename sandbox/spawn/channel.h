/*
 * channel.h - fixed-size packets with one descriptor, and the ids of processes, over a Unix socket.
 *
 * See: unix(7), SCM_RIGHTS, SCM_CREDENTIALS.
 */
#ifndef PETRI_SANDBOX_SPAWN_CHANNEL_H
#define PETRI_SANDBOX_SPAWN_CHANNEL_H

#include <stddef.h>
#include <sys/types.h>

/* Sends a packet, with fd where that is not -1. 0 or -errno. */
int channel_send(int socket, const void *data, size_t bytes, int fd);

/* Waits for a packet of exactly bytes. ret_fd is -1 or the caller's. 0, -EPIPE at the end, -EBADMSG, or -errno. */
int channel_receive(int socket, void *data, size_t bytes, int *ret_fd);

/*
 * Sends the id of a process: the sender's own or, with CAP_SYS_ADMIN in its pid
 * namespace, that of any. Linux translates it into the pid namespace of the
 * receiver. The receiver's socket needs SO_PASSCRED;
 * receiving does not wait. 0, -EPIPE where there is no message, or -errno.
 */
int channel_send_pid(int socket, pid_t pid);
int channel_receive_pid(int socket, pid_t *ret_pid);

#endif
