/*
 * zombies.c - making children again that are dead already.
 *
 * Each child is cloned by the worker with the id that it had (set_tid), on the
 * worker's memory, and ended at once: by exit_group with the same code, or by the
 * same signal. A signal that would dump core would also kill the worker, which
 * shares the memory; so the memory is not dumpable meanwhile. A status that no
 * process can end with was made up by the cell, and counts as SIGKILL.
 */
#define _GNU_SOURCE
#include "zombies.h"

#include "sandbox/inject/helper.h"
#include "sandbox/inject/tracee.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { STACK_BYTES = 4096, STOP_MS = 10000 };

/* What the worker and such a child share: to copy none of it. Their signal dispositions are each its own. */
#define SHARED_CHILD (CLONE_VM | CLONE_FS | CLONE_FILES)

static void add(struct zombies *zombies, pid_t pid, int status) {
    if (zombies->n == ZOMBIES_MAX)
        memmove(zombies->zombie, zombies->zombie + 1, --zombies->n * sizeof zombies->zombie[0]);
    zombies->zombie[zombies->n++] = (struct zombie){pid, status};
}

int zombies_reap(const struct inject_task *worker, struct zombies *zombies) {
    const uint64_t at = worker->area->scratch;
    for (;;) {
        struct inject_call wait = {.number = SYS_wait4, .argument = {(uint64_t)-1, at, WNOHANG | __WALL}};
        int status = 0, r = inject_checked(worker, &wait, NULL, NULL);
        if (r || wait.result <= 0)
            return r;
        r = memory_read(worker->memory_fd, at, &status, sizeof status);
        if (r)
            return r;
        add(zombies, (pid_t)wait.result, status);
    }
}

/* Signals of which Linux would write down the memory, which is the worker's too, and end all who share it: not of one
 * that is not dumpable. See: core(5). */
static int set_dumpable(const struct inject_task *worker, uint64_t dumpable) {
    struct inject_call call = {.number = SYS_prctl, .argument = {PR_SET_DUMPABLE, dumpable}};
    int r = inject_batch(worker, &call, 1);
    return r ? r : inject_failure(&call, 1, NULL);
}

/* Ends a new child by a signal that the worker may have a handler for. */
static int end_by_signal(const struct inject_task *child, int signal) {
    const uint64_t at = child->area->scratch, none = 0;
    const struct { uint64_t handler, flags, restorer, mask; } action = {0}; /* as the system call has it; SIG_DFL */
    const struct inject_memory memory = {at, &action, sizeof action};
    struct inject_call call = {.number = SYS_rt_sigaction, .argument = {(uint64_t)signal, at, 0, sizeof none}};
    int status, r = inject_checked(child, &call, &memory, NULL);
    if (r == 0 && ptrace(PTRACE_SETSIGMASK, child->tid, sizeof none, &none))
        r = -errno;
    if (r == 0 && kill(child->tid, signal))
        r = -errno;
    if (r == 0) /* it comes no further than to the signal */
        r = tracee_continue(child->tid);
    if (r == 0)
        r = tracee_await_stop(child->tid, STOP_MS, &status);
    if (r == 0)
        r = WSTOPSIG(status) == signal ? tracee_deliver(child->tid, signal) : -EUCLEAN;
    return r;
}

/* Whether a signal ends who has no handler for it. See: signal(7). */
static bool is_deadly(int signal) {
    static const int others[] = {SIGCHLD, SIGCONT, SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGURG, SIGWINCH};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (signal == others[i])
            return false;
    return signal > 0 && signal <= SIGRTMAX;
}

/* A status stood in the cell's memory for a moment: it may be anything, and what none can be is taken for SIGKILL. */
static int end(const struct inject_task *child, int status) {
    int r = -ECANCELED;
    if (WIFEXITED(status))
        r = inject_last(child,
                        (struct inject_call){.number = SYS_exit_group, .argument = {(uint64_t)WEXITSTATUS(status)}});
    else if (WTERMSIG(status) != SIGKILL && is_deadly(WTERMSIG(status)))
        r = end_by_signal(child, WTERMSIG(status));
    if (r)
        kill(child->tid, SIGKILL);
    tracee_reap(child->tid); /* it is the worker's child all the same */
    return r == -ECANCELED ? 0 : r;
}

/*
 * Whether the child is forgotten, and the cell made without it: there is no room for one more process, or the id can't
 * be had, being taken or above pid_max. The latter can't be of a child that Linux has told of; but an image of which no
 * cell can be made would end the session.
 */
static bool is_forgotten(int result) {
    return result == -EAGAIN || result == -EEXIST || result == -EINVAL;
}

static int restore(const struct inject_task *worker, const struct zombie *zombie) {
    const struct helper_clone clone = {
        .arguments = {.flags = SHARED_CHILD,
                      .exit_signal = SIGCHLD,
                      .stack = worker->area->scratch + INJECT_SCRATCH_BYTES - STACK_BYTES,
                      .stack_size = STACK_BYTES},
        .tid = (uint64_t)zombie->pid,
    };
    pid_t pid = 0;
    int r = helper_clone_task(worker, clone, &pid);
    if (pid <= 0)
        return is_forgotten(r) ? 0 : r;
    const struct inject_task child = {pid, 0, worker->memory_fd, worker->area};
    int ended = end(&child, zombie->status);
    return r ? r : ended;
}

int zombies_restore(const struct inject_task *worker, const struct zombies *zombies) {
    int r = zombies->n ? set_dumpable(worker, 0) : 0;
    for (size_t i = 0; r == 0 && i < zombies->n; i++)
        r = restore(worker, &zombies->zombie[i]);
    return r == 0 && zombies->n ? set_dumpable(worker, 1) : r;
}
