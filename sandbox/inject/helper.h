/*
 * helper.h - a new task on an image's memory, in other namespaces than its keeper's.
 *
 *     keeper    opens the other namespaces, and clones
 *     helper      enters them, and clones
 *     task          the one that is wanted, cloned inside
 *
 * The helper is killed afterwards. Keeper, helper and task share memory, descriptors
 * and signal handlers, and all three are our children. Each call that they make is a
 * checked one (inject.h), because the keeper is in the cage and the helper has every
 * capability in the namespaces that it has entered.
 *
 * See: setns(2) of a pidfd, clone3(2).
 */
#ifndef PETRI_SANDBOX_INJECT_HELPER_H
#define PETRI_SANDBOX_INJECT_HELPER_H

#include "base/cleanup.h"
#include "sandbox/inject/inject.h"

/* Where a task is cloned, and as whom. */
struct helper_target {
    pid_t init;         /* a process in the namespaces, as the keeper knows it */
    pid_t tid;          /* the new task's id there, or 0 for any */
    uint64_t clear_tid; /* address that the task's end clears, or 0 */
};

/* What it takes to clone a task, laid out for the scratch memory. */
struct helper_clone {
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size,
            cgroup;
    } arguments; /* struct clone_args of clone(2), as far as it is used here */
    uint64_t tid;
};

/*
 * Has task clone another one by what clone says; with an id of its own where
 * that has one. Takes the start of the scratch memory. 0 or -errno; ret_child is
 * the caller's to end, also on failure, where it isn't 0.
 */
int helper_clone_task(const struct inject_task *task, struct helper_clone clone, pid_t *ret_child) MUST_CHECK;

/*
 * Has a keeper spawn a task: stopped, with every capability in its user
 * namespace. ret_init_fd is a pidfd of init in the descriptors that all share,
 * and should be closed. 0 or -errno with ret_error filled; ret_child is the
 * caller's to end, also on failure, where it isn't 0.
 */
int helper_spawn(const struct inject_task *keeper, const struct helper_target *target, pid_t *ret_child,
                 int *ret_init_fd, struct error *ret_error) MUST_CHECK;

/* One checked call that gives 0, or a descriptor: that, or the -errno of it or of its being made. */
int helper_do(const struct inject_task *task, struct inject_call call) MUST_CHECK;
int helper_open(const struct inject_task *task, struct inject_call call) MUST_CHECK;

/* Leaves a task only those capabilities, as a mask, in every set but the bounding one. 0 or -errno. */
int helper_keep_capabilities(const struct inject_task *task, uint64_t kept) MUST_CHECK;

#endif
