/*
 * filter_listener.h - system calls that the filter asks us about: what was tried, and the answer.
 *
 * See: seccomp_unotify(2).
 */
#ifndef PETRI_SANDBOX_FILTER_FILTER_LISTENER_H
#define PETRI_SANDBOX_FILTER_FILTER_LISTENER_H

#include "sandbox/sandbox.h"

#include <sys/types.h>

/*
 * Takes one waiting call from the listener and answers it. ret_pid is the task
 * that made it, as we know it. 1; 0 where it was let through without more (a connection
 * to the sandbox's own loopback, new memory), or where none is waiting any more, then
 * its name is empty; or -errno.
 */
int filter_listener_take(int listener_fd, struct denied_call *ret_call, pid_t *ret_pid);

#endif
