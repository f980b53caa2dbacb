/*
 * delegate.h - a control group of our own, from systemd.
 *
 * Under systemd with control groups version 2, a process may not divide the group
 * that it was started in: others are in it, or it isn't its user's. But a
 * manager, the user's or as root the system's, makes a scope for any process that
 * asks, and with Delegate=yes the tree below it is the asker's.
 *
 * It is asked as any program asks it, by one D-Bus call, so that nothing need
 * be started, the process stays what it is, and a refusal costs nothing. The
 * call is sd-bus', of systemd's own library: libsystemd.so.0 is loaded once
 * there is a bus to ask, and where it is missing that is as if there was no bus.
 *
 * See: systemd.scope(5), org.freedesktop.systemd1(5), "Control Group APIs and
 * Delegation" of systemd, sd-bus(3).
 */
#ifndef PETRI_SANDBOX_LIMITS_DELEGATE_H
#define PETRI_SANDBOX_LIMITS_DELEGATE_H

#include "sandbox/sandbox.h"

/*
 * With bounds, the scope is made in a slice that is the common one of all
 * kernels of the user, "app-petri.slice" or as root "system-petri.slice", and the bounds are
 * set there, as systemctl(1) set-property does until the next start of the machine: whether
 * they hold is to be read from the slice's group.
 *
 * Moves this process into a delegated scope of its own, which ends with it.
 * Blocks until it is there, or until a manager that answers neither yes nor no
 * has been silent for twenty seconds: a busy one has been seen to need two. 0;
 * -ENOENT where there is no systemd, no bus to ask it by or no libsystemd, and
 * -EPERM where it refuses, both at once; -ETIMEDOUT; or another -errno. The
 * process is then where it was, and in either case without a descriptor or a
 * thread more. Call it while the process has no threads and no children: only
 * the process itself is moved.
 */
int delegate_scope(const struct sandbox_bounds *bounds);

#endif
