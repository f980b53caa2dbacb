/*
 * assemble.c - an image becomes a cell: new tasks on a copy of its memory, inside the sandbox.
 *
 *     keeper    the image's, in the cage, of which the image keeps a copy; makes the cell's control socket
 *     helper    shares the keeper's memory, enters the namespaces, clones
 *     worker      the main task, with its old thread id; clones
 *     threads       the others
 *
 * What is done outside the sandbox, or with a capability that is worth
 * something, is checked call by call; see inject.h. Every system call that is
 * made in the image's memory is over before the first task is detached.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/layers.h"
#include "sandbox/inject/helper.h"
#include "sandbox/inject/tracee.h"
#include "sandbox/session/cell.h"

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

#define SHARED_THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS)

enum { LAST_CAPABILITY = 40, STACK_BYTES = 4096 };

static struct inject_task task_of(const struct cell *cell, pid_t tid, pid_t tid_inside) {
    return (struct inject_task){tid, tid_inside, cell->memory_fd, &cell->session->area};
}

static struct inject_task worker_of(const struct cell *cell) {
    return task_of(cell, cell->worker, cell->image->threads.thread[0].tid);
}

static int run(const struct inject_task *task, struct inject_call *calls, size_t n) {
    int r = inject_batch(task, calls, n);
    return r ? r : inject_failure(calls, n, NULL);
}

static bool is_stream(int fd) {
    int type = 0;
    socklen_t bytes = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_STREAM;
}

/*
 * The keeper makes a socket pair: one end, pair[0], becomes the worker's control
 * socket, of the other we get a copy. Both stay in the keeper's descriptors for now.
 */
static int open_control(struct cell *cell, int pair[2]) {
    uint64_t scratch = cell->session->area.scratch;
    const struct inject_task keeper = task_of(cell, cell->keeper, 0);
    int r = helper_do(&keeper, (struct inject_call){.number = SYS_socketpair,
                                                    .argument = {AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, scratch}});
    if (r == 0)
        r = memory_read(cell->memory_fd, scratch, pair, 2 * sizeof pair[0]);
    auto_fd keeper_pidfd = r == 0 ? system_pidfd_open(cell->keeper) : -1;
    if (r)
        return r;
    cell->control_fd = keeper_pidfd < 0 ? keeper_pidfd : system_pidfd_getfd(keeper_pidfd, pair[1]);
    if (cell->control_fd < 0)
        return cell->control_fd;
    if (!is_stream(cell->control_fd))
        return -EUCLEAN; /* the numbers were in the image's memory, where code of a cell may have changed them */
    return fcntl(cell->control_fd, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

/*
 * What the worker does to its descriptors: pair[0] goes to the number of the
 * control socket, and what else has been opened is closed. The image may have
 * closed that number itself: then one of these may have got it.
 */
static size_t descriptor_calls(const int pair[2], int init_fd, struct inject_call *calls) {
    size_t n = 0;
    const int closed[] = {pair[0], pair[1], init_fd};
    if (pair[0] != SANDBOX_CONTROL_FD)
        calls[n++] =
            (struct inject_call){.number = SYS_dup3, .argument = {(uint64_t)pair[0], SANDBOX_CONTROL_FD, O_CLOEXEC}};
    for (size_t i = 0; i < sizeof closed / sizeof closed[0]; i++)
        if (closed[i] != SANDBOX_CONTROL_FD)
            calls[n++] = (struct inject_call){.number = SYS_close, .argument = {(uint64_t)closed[i]}};
    return n;
}

/*
 * The worker's first acts. Of its capabilities it keeps those that it needs to be
 * made, which give code of a cell nothing; then its bounding set is emptied.
 * Entering the user namespace has made the memory undumpable, and with it
 * /proc/self unreadable: that is taken back.
 */
static int settle_process(const struct cell *cell, const int pair[2], int init_fd) {
    const struct inject_task worker = worker_of(cell);
    struct inject_call calls[INJECT_MAX_CALLS];
    int r = helper_keep_capabilities(&worker, CELL_MAKING_CAPABILITIES);
    if (r)
        return r;
    size_t n = descriptor_calls(pair, init_fd, calls);
    calls[n++] = (struct inject_call){.number = SYS_prctl, .argument = {PR_SET_DUMPABLE, 1}};
    calls[n++] = (struct inject_call){.number = SYS_umask, .argument = {cell->image->file_mask}};
    calls[n++] = (struct inject_call){.number = SYS_setpgid};
    for (uint64_t cap = 0; cap <= LAST_CAPABILITY; cap++)
        calls[n++] = (struct inject_call){.number = SYS_prctl, .argument = {PR_CAPBSET_DROP, cap}};
    return run(&worker, calls, n);
}

/* Where the folder that the last cell stood in is gone, the worker stays where setns(2) has put it: in the root. */
static int go_to_folder(const struct cell *cell) {
    const struct inject_task worker = worker_of(cell);
    const char *folder = cell->image->folder;
    uint64_t at = cell->session->area.scratch;
    struct inject_call call = {.number = SYS_chdir, .argument = {at}};
    int r = memory_write(cell->memory_fd, at, folder, strlen(folder) + 1);
    return r ? r : inject_batch(&worker, &call, 1);
}

static void remember_task(struct cell *cell, pid_t tid) {
    cell->tids[cell->n_tids++] = tid;
}

static int clone_threads(struct cell *cell) {
    const struct threads *threads = &cell->image->threads;
    const struct inject_task worker = worker_of(cell);
    const uint64_t stack = cell->session->area.scratch + INJECT_SCRATCH_BYTES - STACK_BYTES;
    int r = 0;
    for (size_t i = 1; r == 0 && i < threads->n; i++) {
        const struct thread *thread = &threads->thread[i];
        pid_t tid = 0;
        r = helper_clone_task(&worker,
                              (struct helper_clone){.arguments = {.flags = SHARED_THREAD,
                                                                  .child_tid = thread->clear_tid,
                                                                  .tls = thread->regs.fs_base,
                                                                  .stack = stack,
                                                                  .stack_size = STACK_BYTES},
                                                    .tid = (uint64_t)thread->tid},
                              &tid);
        if (tid > 0)
            remember_task(cell, tid);
    }
    return r;
}

/* A call that takes every capability away; its argument is put at at, in scratch that other calls don't use. */
static int put_capset(const struct cell *cell, uint64_t at, struct inject_call *ret_call) {
    struct {
        struct __user_cap_header_struct header;
        struct __user_cap_data_struct data[2];
    } put = {.header = {.version = _LINUX_CAPABILITY_VERSION_3}};
    *ret_call = (struct inject_call){.number = SYS_capset, .argument = {at, at + sizeof put.header}};
    return memory_write(cell->memory_fd, at, &put, sizeof put);
}

/* What a task does for itself: gives up its capabilities, which must not fail; then makes its registrations. A batch
 * ends at the first call that fails, and goes on behind it. */
static int settle_task(const struct cell *cell, const struct inject_task *task, const struct thread *thread) {
    const uint64_t scratch = cell->session->area.scratch;
    struct inject_call calls[1 + THREAD_CALLS];
    size_t n = 1 + thread_restore_calls(thread, cell->memory_fd, scratch, calls + 1), failed = 0;
    if (n == 1 || put_capset(cell, scratch + THREAD_SCRATCH_BYTES, &calls[0]))
        return -EUCLEAN;
    for (size_t from = 0; from < n; from += failed + 1) {
        int r = inject_batch(task, calls + from, n - from);
        if (r)
            return r;
        r = inject_failure(calls + from, n - from, &failed);
        if (r == 0 || r == -EUCLEAN || from + failed == 0)
            return r;
    }
    return 0;
}

static int settle_tasks(const struct cell *cell) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < cell->n_tids; i++) {
        const struct thread *thread = &cell->image->threads.thread[i];
        const struct inject_task task = task_of(cell, cell->tids[i], thread->tid);
        r = settle_task(cell, &task, thread);
    }
    return r;
}

/* Without capabilities, like everything that the worker opens. */
static int restore_objects(struct cell *cell) {
    struct inject_task task = worker_of(cell);
    struct image *image = cell->image;
    struct restorer restorer = {.task = &task,
                                .pidfd = cell->worker_pidfd,
                                .keeper = image->keeper,
                                .beside = cell->role != CELL_OF_SESSION,
                                .whole = cell->role == CELL_BESIDE,
                                .outputs = cell->role == CELL_BESIDE ? cell->outputs : NULL,
                                .layered = cell->layer != LAYER_LIVE,
                                .room = SHARED_MAX_BYTES};
    const size_t *of_kind = image->descriptors.of_kind;
    cell->wrote = cell->layer == LAYER_LIVE && of_kind[DESCRIPTOR_SOCKET] + of_kind[DESCRIPTOR_PIPE] > 0; /* at paths */
    int r = shared_restore(&image->shared, &image->descriptors, image->memory_fd, &restorer, &cell->made);
    return r ? r : descriptors_restore(&image->descriptors, &restorer);
}

/* The last that the tasks are made to do: registering their restartable sequences, after which Linux may change where
 * they go on, and their registers. */
static int restore_threads(const struct cell *cell) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < cell->n_tids; i++) {
        const struct thread *thread = &cell->image->threads.thread[i];
        const struct inject_task task = task_of(cell, cell->tids[i], thread->tid);
        r = thread_load_features(thread, &task);
        if (r == 0)
            r = thread_restore_rseq(thread, &task);
        if (r == 0)
            r = thread_restore_registers(thread, cell->tids[i]);
    }
    return r;
}

/* Takes the faults that the cell is about to have; in the sandbox, like everything that is not checked. */
static int prefault(struct cell *cell) {
    const struct inject_task worker = worker_of(cell);
    const struct habit *habit = cell_habit(cell);
    cell->prefaulted = cell->is_idle && habit->n_cells >= HABIT_FIRST;
    return cell->prefaulted ? prefault_apply(&habit->known, &worker, cell->is_idle, cell->idle_arg) : 0;
}

int cell_take_sandbox(struct cell *cell, struct error *ret_error) {
    cell->sandbox_asked = false;
    return zygote_take_sandbox(&cell->session->zygote, &cell->init, ret_error);
}

/* Notes the cell's pid namespace, by which its tasks can be told from others. */
static int identify(struct cell *cell) {
    char path[32];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/ns/pid", cell->init.pid);
    if (stat(path, &st))
        return -errno;
    cell->pid_namespace = st.st_ino;
    return 0;
}

/*
 * Makes the keeper, in the cell's control group. The session's own cells are where their image is, and go on with its
 * memory; but where the session goes back to one image again and again, the memory that is left each time would be a
 * copy of a copy.
 */
static int copy_image(struct cell *cell, struct error *error) {
    struct session *session = cell->session;
    const bool own = cell->role == CELL_OF_SESSION;
    const bool seeded = cell->role == CELL_BESIDE && cell->image == session->first && session->host.backend;
    int r = own && cell->image->times_restored < 2
                ? image_leave_copy(cell->image, &session->area, &cell->keeper, &cell->memory_fd)
            : seeded ? beside_copy_first(session, cell->place, &cell->keeper, &cell->memory_fd)
                     : image_copy_keeper(cell->image, &session->area, &cell->keeper, &cell->memory_fd);
    if (r)
        return step_failed(error, STEP_IMAGE, -r, "%s", "");
    r = seeded || own ? 0 : resources_join(cell_group(cell), cell->keeper);
    return r ? step_failed(error, STEP_CGROUP, -r, "%s", "") : 0;
}

/* The keeper's part and the helper's: afterwards the worker is there. */
static int clone_worker(struct cell *cell, int pair[2], int *ret_init_fd, struct error *error) {
    const struct thread *main_thread = &cell->image->threads.thread[0];
    int r = copy_image(cell, error);
    if (r)
        return r;
    r = open_control(cell, pair);
    if (r)
        return step_failed(error, STEP_INJECT, -r, "control socket");
    r = cell_take_sandbox(cell, error);
    if (r)
        return r;
    r = identify(cell);
    if (r)
        return step_failed(error, STEP_ZYGOTE, -r, "pid namespace");
    const struct inject_task keeper = task_of(cell, cell->keeper, 0);
    const struct helper_target target = {cell->init.pid_in_cage, main_thread->tid, main_thread->clear_tid};
    r = helper_spawn(&keeper, &target, &cell->worker, ret_init_fd, error);
    if (cell->worker > 0)
        remember_task(cell, cell->worker);
    return r;
}

/* Has the tasks make their own state: credentials, threads, ended children, folder, pages. */
static int settle(struct cell *cell, const int pair[2], int init_fd, struct error *error) {
    const struct inject_task worker = worker_of(cell);
    cell->worker_pidfd = system_pidfd_open(cell->worker);
    int r = cell->worker_pidfd < 0 ? cell->worker_pidfd : settle_process(cell, pair, init_fd);
    if (r)
        return step_failed(error, STEP_CREDENTIALS, -r, "worker");
    r = threads_request_features(&cell->image->threads, &worker);
    if (r)
        return step_failed(error, STEP_INJECT, -r, "extended registers");
    r = clone_threads(cell);
    if (r)
        return step_failed(error, STEP_CLONE, -r, "threads");
    r = cell->role == CELL_EPHEMERAL ? 0 : zombies_restore(&worker, &cell->image->zombies);
    if (r)
        return step_failed(error, STEP_CLONE, -r, "ended children");
    r = settle_tasks(cell);
    if (r)
        return step_failed(error, STEP_CREDENTIALS, -r, "%s", "");
    r = go_to_folder(cell);
    if (r)
        return step_failed(error, STEP_INJECT, -r, "working directory");
    r = prefault(cell);
    return r ? step_failed(error, STEP_INJECT, -r, "populating memory") : 0;
}

int cell_assemble(struct cell *cell, struct error *ret_error) {
    int pair[2] = {-1, -1}, init_fd = -1;
    int r = image_check(cell->image, ret_error);
    if (r)
        return r;
    cell->tids = calloc(cell->image->threads.n, sizeof *cell->tids);
    if (!cell->tids)
        return step_failed(ret_error, STEP_MEMORY, ENOMEM, "%s", "");
    r = clone_worker(cell, pair, &init_fd, ret_error);
    if (r == 0)
        r = settle(cell, pair, init_fd, ret_error);
    if (r)
        return r;
    r = restore_objects(cell);
    if (r)
        return step_failed(ret_error, STEP_DESCRIPTORS, -r, "restoring descriptors and shared memory");
    if (prlimit(cell->worker, RLIMIT_NOFILE, &cell->session->descriptors, NULL))
        return step_failed(ret_error, STEP_CREDENTIALS, errno, "descriptors");
    r = restore_threads(cell);
    return r ? step_failed(ret_error, STEP_REGISTERS, -r, "%s", "") : 0;
}
