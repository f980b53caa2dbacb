/*
 * helper.c - two clones and a setns(2), each a checked call.
 *
 * The keeper clones the helper with its memory and descriptors, so nothing is
 * copied. The helper enters the namespaces, which gives it every capability
 * there: so it is the one that clones the wanted task with a chosen id, and it is
 * killed whatever comes of that.
 */
#define _GNU_SOURCE
#include "helper.h"

#include "sandbox/base/step.h"
#include "sandbox/inject/tracee.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>

#define ALL_NAMESPACES                                                                                                 \
    (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define SHARED_PROCESS (CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_PARENT)

int helper_do(const struct inject_task *task, struct inject_call call) {
    int r = inject_checked(task, &call, NULL, NULL);
    return r ? r : inject_result_status(call.result);
}

int helper_open(const struct inject_task *task, struct inject_call call) {
    int r = inject_checked(task, &call, NULL, NULL);
    return r ? r : inject_result_descriptor(call.result);
}

int helper_clone_task(const struct inject_task *task, struct helper_clone clone, pid_t *ret_child) {
    const uint64_t at = task->area->scratch;
    if (clone.tid) {
        clone.arguments.set_tid = at + offsetof(struct helper_clone, tid);
        clone.arguments.set_tid_size = 1;
    }
    if (clone.arguments.child_tid)
        clone.arguments.flags |= CLONE_CHILD_CLEARTID;
    const struct inject_memory memory = {at, &clone, sizeof clone};
    struct inject_call call = {.number = SYS_clone3, .argument = {at, sizeof clone.arguments}};
    int r = inject_checked(task, &call, &memory, ret_child);
    return r ? r : inject_failure(&call, 1, NULL);
}

int helper_keep_capabilities(const struct inject_task *task, uint64_t kept) {
    const uint64_t at = task->area->scratch;
    struct {
        struct __user_cap_header_struct header;
        struct __user_cap_data_struct data[2];
    } put = {.header = {.version = _LINUX_CAPABILITY_VERSION_3}};
    for (int i = 0; i < 2; i++)
        put.data[i].effective = put.data[i].permitted = (uint32_t)(kept >> (32 * i));
    const struct inject_memory memory = {at, &put, sizeof put};
    struct inject_call call = {.number = SYS_capset, .argument = {at, at + sizeof put.header}};
    int r = inject_checked(task, &call, &memory, NULL);
    return r ? r : inject_failure(&call, 1, NULL);
}

/*
 * The helper's part. By entering a user namespace it gets every capability there;
 * one of them is needed to clone a task with a chosen id.
 */
static int enter_and_clone(const struct inject_task *helper, const struct helper_target *target, int init_fd,
                           pid_t *ret_child, struct error *error) {
    const struct helper_clone clone = {.arguments = {.flags = SHARED_PROCESS, .child_tid = target->clear_tid},
                                       .tid = (uint64_t)target->tid};
    int r =
        helper_do(helper, (struct inject_call){.number = SYS_setns, .argument = {(uint64_t)init_fd, ALL_NAMESPACES}});
    if (r)
        return step_failed(error, STEP_SETNS, -r, "%s", "");
    r = helper_clone_task(helper, clone, ret_child);
    return r ? step_failed(error, STEP_CLONE, -r, "%s", "") : 0;
}

int helper_spawn(const struct inject_task *keeper, const struct helper_target *target, pid_t *ret_child,
                 int *ret_init_fd, struct error *ret_error) {
    pid_t pid = 0;
    struct inject_call clone = {.number = SYS_clone, .argument = {SHARED_PROCESS | SIGCHLD}};
    int init_fd =
        helper_open(keeper, (struct inject_call){.number = SYS_pidfd_open, .argument = {(uint64_t)target->init}});
    int r = init_fd < 0 ? init_fd : inject_checked(keeper, &clone, NULL, &pid);
    if (r == 0)
        r = inject_failure(&clone, 1, NULL);
    if (r == 0) {
        const struct inject_task helper = {pid, 0, keeper->memory_fd, keeper->area};
        r = enter_and_clone(&helper, target, init_fd, ret_child, ret_error);
    } else {
        step_failed(ret_error, STEP_INJECT, -r, "helper");
    }
    if (pid > 0)
        tracee_kill(pid);
    if (r == 0)
        *ret_init_fd = init_fd;
    return r;
}
