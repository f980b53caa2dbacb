/*
 * assemble.c - an image becomes a cell: new tasks on a copy of its memory, inside the sandbox.
 *
 *     keeper    the copy of the image; gets the cell's control socket
 *     helper    shares the keeper's memory, enters the namespaces, clones
 *     worker      the main task, with its old thread id; clones
 *     threads       the others
 *
 * Every system call that is made in the image's memory is over before the
 * first task is detached.
 */
#define _GNU_SOURCE
#include "cell.h"
#include "cleanup.h"
#include "error.h"
#include "system.h"
#include "tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SANDBOX_NAMESPACES                                                                                             \
    (CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define SHARED_PROCESS (CLONE_VM | CLONE_FILES | CLONE_SIGHAND | CLONE_PARENT)
#define SHARED_THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS)

enum { THREADS_AT_ONCE = 32, LAST_CAPABILITY = 40, STACK_BYTES = 4096 };

/* struct clone_args of clone(2), as far as it is used here. */
struct clone_arguments {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
};

/* What lies in the scratch memory while a task is cloned. */
struct clone_scratch {
    struct clone_arguments arguments;
    uint64_t tid;
};

static struct remote_task task_of(const struct cell *cell, pid_t tid, pid_t tid_inside) {
    return (struct remote_task){tid, tid_inside, cell->memory_fd, &cell->image->threads.thread[0].regs,
                                &cell->session->site};
}

static struct remote_task worker_of(const struct cell *cell) {
    return task_of(cell, cell->worker, cell->image->threads.thread[0].tid);
}

static int run(const struct remote_task *task, struct remote_call *calls, size_t n) {
    int r = remote_run(task, calls, n, NULL, 0);
    return r ? r : remote_failure(calls, n, NULL);
}

/*
 * Moves pair[0] to the number of the control socket, closes pair[1], and opens
 * a pidfd of the sandbox. The image may have closed that number itself: then
 * one of the pair may have got it, and the pidfd must not.
 */
static size_t control_calls(const struct cell *cell, const int pair[2], struct remote_call *calls) {
    size_t n = 0;
    if (pair[0] != SANDBOX_CONTROL_FD) {
        calls[n++] =
            (struct remote_call){.number = SYS_dup3, .argument = {(uint64_t)pair[0], SANDBOX_CONTROL_FD, O_CLOEXEC}};
        calls[n++] = (struct remote_call){.number = SYS_close, .argument = {(uint64_t)pair[0]}};
    }
    if (pair[1] != SANDBOX_CONTROL_FD)
        calls[n++] = (struct remote_call){.number = SYS_close, .argument = {(uint64_t)pair[1]}};
    calls[n++] = (struct remote_call){.number = SYS_pidfd_open, .argument = {(uint64_t)cell->init.pid}};
    return n;
}

/* The keeper makes a socket pair; one end becomes the worker's control socket, the other ours. ret_init_fd is a pidfd
 * in the keeper. */
static int open_control(struct cell *cell, int *ret_init_fd) {
    uint64_t scratch = cell->session->site.scratch;
    struct remote_task keeper = task_of(cell, cell->keeper, cell->keeper);
    struct remote_call calls[4] = {
        {.number = SYS_socketpair, .argument = {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, scratch}},
    };
    int pair[2], r = run(&keeper, calls, 1);
    if (r == 0)
        r = memory_read(cell->memory_fd, scratch, pair, sizeof pair);
    auto_fd keeper_pidfd = r == 0 ? system_pidfd_open(cell->keeper) : -1;
    if (r == 0)
        cell->control_fd = keeper_pidfd < 0 ? keeper_pidfd : system_pidfd_getfd(keeper_pidfd, pair[1]);
    if (r == 0 && cell->control_fd < 0)
        r = cell->control_fd;
    size_t n = r == 0 ? control_calls(cell, pair, calls) : 0;
    if (r == 0)
        r = run(&keeper, calls, n);
    if (r)
        return r;
    *ret_init_fd = (int)calls[n - 1].result;
    return fcntl(cell->control_fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static int start_helper(const struct cell *cell, pid_t *ret_helper) {
    struct remote_task keeper = task_of(cell, cell->keeper, cell->keeper);
    struct remote_call call = {.number = SYS_clone, .argument = {SHARED_PROCESS | SIGCHLD}};
    int r = remote_run(&keeper, &call, 1, ret_helper, 1);
    return r ? r : remote_failure(&call, 1, NULL);
}

/* Puts the arguments of a clone3 into the scratch memory, at index. */
static int put_clone(const struct cell *cell, size_t index, uint64_t flags, const struct thread *thread,
                     struct remote_call *ret_call) {
    uint64_t scratch = cell->session->site.scratch;
    uint64_t at = scratch + index * sizeof(struct clone_scratch);
    struct clone_scratch put = {
        .arguments = {.flags = flags,
                      .child_tid = thread->clear_tid,
                      .set_tid = at + offsetof(struct clone_scratch, tid),
                      .set_tid_size = 1},
        .tid = (uint64_t)thread->tid,
    };
    if (flags & CLONE_THREAD) {
        put.arguments.tls = thread->regs.fs_base;
        put.arguments.stack = scratch + REMOTE_SCRATCH_BYTES - STACK_BYTES;
        put.arguments.stack_size = STACK_BYTES;
    }
    if (thread->clear_tid)
        put.arguments.flags |= CLONE_CHILD_CLEARTID;
    *ret_call = (struct remote_call){.number = SYS_clone3, .argument = {at, sizeof put.arguments}};
    return memory_write(cell->memory_fd, at, &put, sizeof put);
}

/*
 * The helper enters all namespaces of the sandbox at once and gives birth to
 * the worker. Entering the user namespace makes the memory undumpable, and
 * with it /proc/self unreadable: that is taken back.
 */
static int enter_and_clone(struct cell *cell, pid_t helper, int init_fd, struct sandbox_error *error) {
    const struct image *image = cell->image;
    uint64_t scratch = cell->session->site.scratch, folder_at = scratch + sizeof(struct clone_scratch);
    struct remote_task task = task_of(cell, helper, helper);
    struct remote_call calls[REMOTE_MAX_CALLS];
    size_t n = 0, failed = 0;
    calls[n++] = (struct remote_call){.number = SYS_setns, .argument = {(uint64_t)init_fd, SANDBOX_NAMESPACES}};
    calls[n++] = (struct remote_call){.number = SYS_prctl, .argument = {PR_SET_DUMPABLE, 1}};
    calls[n++] = (struct remote_call){.number = SYS_close, .argument = {(uint64_t)init_fd}};
    calls[n++] = (struct remote_call){.number = SYS_umask, .argument = {image->file_mask}};
    for (uint64_t cap = 0; cap <= LAST_CAPABILITY; cap++)
        calls[n++] = (struct remote_call){.number = SYS_prctl, .argument = {PR_CAPBSET_DROP, cap}};
    size_t change_folder = n;
    calls[n++] = (struct remote_call){.number = SYS_chdir, .argument = {folder_at}};
    int r = put_clone(cell, 0, SHARED_PROCESS, &image->threads.thread[0], &calls[n++]);
    if (r == 0)
        r = memory_write(cell->memory_fd, folder_at, image->folder, strlen(image->folder) + 1);
    if (r == 0)
        r = remote_run(&task, calls, n, &cell->worker, 1);
    if (r == 0 && calls[change_folder].result < 0 && calls[change_folder].result != REMOTE_NOT_MADE) {
        /* The folder that the last cell stood in is gone: the sandbox's root is left, where setns put the helper. */
        r = remote_run(&task, &calls[n - 1], 1, &cell->worker, 1);
        calls[change_folder].result = 0;
    }
    if (r == 0)
        r = remote_failure(calls, n, &failed);
    if (r)
        return error_set(error, failed == 0 ? STEP_SETNS : STEP_CLONE, -r, "system call %d", (int)calls[failed].number);
    return 0;
}

static void remember_task(struct cell *cell, pid_t tid) {
    cell->tids[cell->n_tids++] = tid;
}

static int clone_threads(struct cell *cell) {
    const struct threads *threads = &cell->image->threads;
    struct remote_task worker = worker_of(cell);
    for (size_t from = 1; from < threads->n; from += THREADS_AT_ONCE) {
        struct remote_call calls[THREADS_AT_ONCE];
        pid_t tids[THREADS_AT_ONCE] = {0};
        size_t n = threads->n - from < THREADS_AT_ONCE ? threads->n - from : THREADS_AT_ONCE;
        int r = 0;
        for (size_t i = 0; r == 0 && i < n; i++)
            r = put_clone(cell, i, SHARED_THREAD, &threads->thread[from + i], &calls[i]);
        if (r == 0)
            r = remote_run(&worker, calls, n, tids, n);
        for (size_t i = 0; i < n && tids[i] > 0; i++)
            remember_task(cell, tids[i]);
        if (r == 0)
            r = remote_failure(calls, n, NULL);
        if (r)
            return r;
    }
    return 0;
}

/* No capability in any set. In scratch at offset, below what the other calls use. */
static int put_capset(const struct cell *cell, uint64_t at, struct remote_call *ret_call) {
    struct {
        struct __user_cap_header_struct header;
        struct __user_cap_data_struct data[2];
    } put = {.header = {.version = _LINUX_CAPABILITY_VERSION_3}};
    *ret_call = (struct remote_call){.number = SYS_capset, .argument = {at, at + sizeof put.header}};
    return memory_write(cell->memory_fd, at, &put, sizeof put);
}

/* What each task does for itself: its registrations, and the end of its capabilities. */
static size_t common_calls(const struct cell *cell, const struct thread *thread, struct remote_call *calls) {
    uint64_t scratch = cell->session->site.scratch;
    size_t n = thread_restore_calls(thread, cell->memory_fd, scratch, calls);
    if (n == 0 || put_capset(cell, scratch + THREAD_SCRATCH_BYTES, &calls[n]))
        return 0;
    return n + 1;
}

static int settle_threads(const struct cell *cell) {
    for (size_t i = 1; i < cell->n_tids; i++) {
        const struct thread *thread = &cell->image->threads.thread[i];
        struct remote_task task = task_of(cell, cell->tids[i], thread->tid);
        struct remote_call calls[THREAD_CALLS + 1];
        size_t n = common_calls(cell, thread, calls);
        int r = n == 0 ? -EUCLEAN : run(&task, calls, n);
        if (r)
            return r;
    }
    return 0;
}

/* The worker comes last: its threads needed its capabilities to be born. */
static int settle_worker(const struct cell *cell) {
    struct remote_task task = worker_of(cell);
    struct remote_call calls[THREAD_CALLS + 2];
    size_t n = common_calls(cell, &cell->image->threads.thread[0], calls);
    if (n == 0)
        return -EUCLEAN;
    calls[n++] = (struct remote_call){.number = SYS_setpgid};
    return run(&task, calls, n);
}

/* Without capabilities, like everything that the worker opens. */
static int give_own(const struct cell *cell) {
    struct remote_task task = worker_of(cell);
    struct image *image = cell->image;
    struct giver giver = {.task = &task, .pidfd = cell->worker_pidfd, .keeper = image->keeper, .aside = cell->aside};
    int r = shared_give(&image->shared, &image->descriptors, image->memory_fd, &giver);
    return r ? r : descriptors_give(&image->descriptors, &giver);
}

static int restore_registers(const struct cell *cell) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < cell->n_tids; i++)
        r = thread_restore_registers(&cell->image->threads.thread[i], cell->tids[i]);
    return r;
}

/* By which the cell's tasks can be told from others. */
static int identify(struct cell *cell) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/ns/pid", cell->init.pid);
    if (stat(path, &st))
        return -errno;
    cell->pid_namespace = st.st_ino;
    return 0;
}

/* The keeper's part and the helper's: afterwards the worker is there. */
static int give_birth(struct cell *cell, struct sandbox_error *error) {
    int init_fd = -1;
    pid_t helper = 0;
    int r = image_copy_keeper(cell->image, &cell->session->site, &cell->keeper, &cell->memory_fd);
    if (r)
        return error_set(error, STEP_IMAGE, -r, "%s", "");
    struct remote_task keeper = task_of(cell, cell->keeper, cell->keeper);
    cell->prefaulted = cell->session->n_learned >= PREFAULT_LESSONS;
    if (cell->prefaulted)
        r = prefault_apply(&cell->session->prefault, &keeper);
    if (r)
        return error_set(error, STEP_INJECT, -r, "populating memory");
    if (cell->aside)
        r = resources_join(&cell->session->ground.asides, cell->keeper);
    if (r)
        return error_set(error, STEP_CGROUP, -r, "asides");
    r = cell_take_sandbox(cell, error);
    if (r)
        return r;
    r = identify(cell);
    if (r)
        return error_set(error, STEP_NURSERY, -r, "pid namespace");
    r = open_control(cell, &init_fd);
    if (r)
        return error_set(error, STEP_INJECT, -r, "control socket");
    r = start_helper(cell, &helper);
    r = r ? error_set(error, STEP_INJECT, -r, "helper") : enter_and_clone(cell, helper, init_fd, error);
    if (helper > 0)
        tracee_kill(helper);
    return r;
}

int cell_assemble(struct cell *cell, struct sandbox_error *ret_error) {
    if (cell->image->broken)
        return error_set(ret_error, STEP_DESCRIPTORS, -cell->image->broken,
                         "a lost cell has changed them, and that could not be undone");
    cell->tids = calloc(cell->image->threads.n, sizeof *cell->tids);
    if (!cell->tids)
        return error_set(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    int r = give_birth(cell, ret_error);
    if (r)
        return r;
    remember_task(cell, cell->worker);
    cell->worker_pidfd = system_pidfd_open(cell->worker);
    r = cell->worker_pidfd < 0 ? cell->worker_pidfd : clone_threads(cell);
    if (r)
        return error_set(ret_error, STEP_CLONE, -r, "threads");
    r = settle_threads(cell);
    if (r == 0)
        r = settle_worker(cell);
    if (r)
        return error_set(ret_error, STEP_CREDENTIALS, -r, "%s", "");
    r = give_own(cell);
    if (r)
        return error_set(ret_error, STEP_DESCRIPTORS, -r, "giving the cell its own");
    if (prlimit(cell->worker, RLIMIT_NOFILE, &cell->session->descriptors, NULL))
        return error_set(ret_error, STEP_CREDENTIALS, errno, "descriptors");
    r = restore_registers(cell);
    return r ? error_set(ret_error, STEP_PTRACE, -r, "registers") : 0;
}
