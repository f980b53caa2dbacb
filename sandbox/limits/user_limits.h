/*
 * user_limits.h - how much a session's tasks may take of what Linux counts by user.
 *
 * Some counts know no namespace: descriptors in flight through sockets, waiting
 * signals and timers, locked memory. All that a user runs, in a sandbox and out
 * of it, adds to one number, which Linux compares with a limit of the process
 * that asks for more. So cells get limits far below those that a user's
 * programs usually have, and the kernel process takes the most that it may.
 *
 * See: docs/shared-objects.md, getrlimit(2), ETOOMANYREFS in unix(7).
 */
#ifndef PETRI_SANDBOX_LIMITS_USER_LIMITS_H
#define PETRI_SANDBOX_LIMITS_USER_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* The most descriptors that a task of a cell may have open, where the hard limit is no lower than twice that. */
enum { USER_LIMITS_DESCRIPTORS = 512 };

/* Raises this process' soft limit of descriptors to its hard one: that is what the counts of the whole user are
 * compared with. Where that fails, all stays as it was. */
void user_limits_raise_own(void);

/*
 * Lowers the limits of a task, and so of all that will be copied from it.
 * ret_descriptors: what cells get; the task itself gets extra descriptors more.
 * 0 or -errno; -EMFILE where the hard limit leaves too few.
 */
int user_limits_lower(pid_t pid, unsigned extra, struct rlimit *ret_descriptors) __attribute__((warn_unused_result));

/*
 * As many descriptors in flight as one sender after the other comes to, with
 * USER_LIMITS_DESCRIPTORS and the 253 that Linux takes in one message. Senders at the
 * same time come to more: Linux compares first and counts later.
 */
enum { USER_LIMITS_IN_FLIGHT = USER_LIMITS_DESCRIPTORS + 253 };

/*
 * Whether this user's programs, here and outside, have more in flight than
 * that: by sending one with a limit of that height, for some ten microseconds.
 * false also where it can't be told. Not for two threads at a time.
 */
bool user_limits_in_flight_exceeded(void);

/*
 * Whether this process has fewer descriptors left than it may need at a time, where n kept images have up to
 * USER_LIMITS_IMAGE_DESCRIPTORS each. Where they can't be that many, none are counted. ret_limit: how many it may have.
 */
enum { USER_LIMITS_IMAGE_DESCRIPTORS = 4, USER_LIMITS_RESERVE = 256 };
bool user_limits_lacks_descriptors(size_t n, uint64_t *ret_limit);

/* Whether descriptors wait in a socket that a process has open. See: scm_fds in proc_pid_fdinfo(5). */
bool user_limits_holds_in_flight(pid_t pid);

#endif
