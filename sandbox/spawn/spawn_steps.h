/*
 * spawn_steps.h - what every process that the zygote spawns has in common: how it is cloned, and how it reports.
 */
#ifndef PETRI_SANDBOX_SPAWN_SPAWN_STEPS_H
#define PETRI_SANDBOX_SPAWN_SPAWN_STEPS_H

#include "sandbox/sandbox.h"

#include <sched.h>
#include <sys/types.h>

/* Those that a worker and a sandbox have of their own; a sandbox has a user and a pid namespace, too. */
#define SPAWN_NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* What a spawned process sends over its pipe. */
struct spawn_report {
    int result; /* 0 or -errno; of success this alone is sent: an empty init has no room for more (init.h) */
    struct error error;
};

/* clone(2) as fork(2) does it, with flags. */
pid_t spawn_clone(unsigned long flags);

/*
 * Waits for a report and returns its result. The end of the pipe without one is
 * success where end_is_success, for then the process has exec'ed, and -EPIPE else.
 */
int spawn_await_report(int fd, bool end_is_success, struct error *ret_error);

/* Sends a report; after one of a failure the calling process ends. */
void spawn_send_report(int fd, int result, const struct error *error);

/*
 * Brings the loopback interface up, so that connecting to a closed port is refused,
 * as programs expect. Where it can't be had, cells are without it: the network
 * namespace, not the loopback, is what keeps them apart. See: netdevice(7).
 */
void spawn_raise_loopback(void);

/*
 * Listens on the loopback where resolvers ask for names (UDP, port 53), before
 * capabilities are given up. A descriptor, or -1: then questions stay unanswered.
 */
int spawn_listen_for_names(void);

#endif
