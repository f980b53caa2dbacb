/*
 * worker_fds.h - what the worker has open when it starts.
 */
#ifndef PETRI_SANDBOX_SPAWN_WORKER_FDS_H
#define PETRI_SANDBOX_SPAWN_WORKER_FDS_H

/* The worker's ends of the session's socket and pipes; the zygote closes its copies. */
struct worker_fds {
    int control_fd;
    int stdout_fd;
    int stderr_fd;
    int trace_fd;
};

#endif
