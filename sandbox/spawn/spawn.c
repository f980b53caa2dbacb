/*
 * spawn.c - how pid 1 of a sandbox is cloned in the cage, without a copy of the zygote's memory.
 *
 *     zygote    waits (CLONE_VFORK) while the others use its memory
 *       one     enters the cage's user and pid namespace
 *         two   cloned there, so it is in that pid namespace; clones
 *           init  in namespaces of its own; a child of the zygote's (CLONE_PARENT)
 *
 * A process can't change its own pid namespace, only that of its children, which
 * is why it takes two. Both have a stack of their own within the zygote's memory
 * and are gone before it goes on. Two tells init's id over a socket, by which
 * Linux translates it into the zygote's namespace (SCM_CREDENTIALS).
 *
 * Between a pid 1 and us are two pipes: start, from which it reads the layer that
 * it is to have, and status, into which it writes how that went. It ends as init.h
 * has it. The end of start without a layer means that it is not needed.
 */
#define _GNU_SOURCE
#include "spawn.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/files/layers.h"
#include "sandbox/mounts/mounts.h"
#include "sandbox/spawn/channel.h"
#include "sandbox/spawn/spawn_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CELL_UID = 1000, CELL_GID = 1000 }; /* inside of a sandbox */
enum { STACKS = 2, STACK_BYTES = 512 << 10, GUARD_BYTES = 4096 };

#define SANDBOX_NAMESPACES (SPAWN_NAMESPACES | CLONE_NEWUSER | CLONE_NEWPID)

/* What a sandbox does while it is prepared: it takes its user, and makes what needs no layer. */
static int prepare(struct error *error) {
    if (setresgid(CELL_GID, CELL_GID, CELL_GID) || setresuid(CELL_UID, CELL_UID, CELL_UID))
        return step_failed(error, STEP_CREDENTIALS, errno, "%s", "");
    spawn_raise_loopback();
    return mounts_begin_sandbox(error);
}

static int read_layer(int fd, uint64_t *ret_layer) {
    ssize_t n;
    do
        n = read(fd, ret_layer, sizeof *ret_layer);
    while (n < 0 && errno == EINTR);
    return n == sizeof *ret_layer ? 0 : -EPIPE;
}

/* Our end of the two pipes that a pid 1 is made with, and its own. */
struct pipes {
    int start_read, start_write, status_read, status_write;
};

static int pipes_init(struct pipes *pipes, struct error *error) {
    int start[2], status[2];
    if (pipe2(start, O_CLOEXEC))
        return step_failed(error, STEP_PIPE, errno, "%s", "");
    if (pipe2(status, O_CLOEXEC)) {
        int err = errno;
        close(start[0]);
        close(start[1]);
        return step_failed(error, STEP_PIPE, err, "%s", "");
    }
    *pipes = (struct pipes){start[0], start[1], status[0], status[1]};
    return 0;
}

static void pipes_fini(struct pipes *pipes) {
    close_fd(&pipes->start_read);
    close_fd(&pipes->start_write);
    close_fd(&pipes->status_read);
    close_fd(&pipes->status_write);
}

static int write_id_map(const char *path, unsigned inside, unsigned outside) {
    char text[64];
    snprintf(text, sizeof text, "%u %u 1\n", inside, outside);
    return system_write_file(AT_FDCWD, path, text);
}

/* Maps the one user of a new user namespace to the cells' user above it: the maker of a namespace may map its own. */
static int map_ids(const struct sandbox_host *host, unsigned uid, unsigned gid, struct error *error) {
    int r = write_id_map("/proc/self/uid_map", uid, host->worker_uid);
    if (r == 0)
        r = system_write_file(AT_FDCWD, "/proc/self/setgroups", "deny");
    if (r == 0)
        r = write_id_map("/proc/self/gid_map", gid, host->worker_gid);
    return r ? step_failed(error, STEP_ID_MAP, -r, "%s", "") : 0;
}

/* What every pid 1 begins with: it ends with the zygote, and gets its user. */
static int init_begin(const struct spawn_context *context, struct pipes *pipes, unsigned uid, unsigned gid,
                      struct error *error) {
    prctl(PR_SET_NAME, "petri-init");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close_fd(&pipes->start_write);
    close_fd(&pipes->status_read);
    prctl(PR_SET_DUMPABLE, 1); /* or its own /proc is closed to it: the zygote has changed users */
    return map_ids(context->template->options->host, uid, gid, error);
}

/*
 * A helper may enter our namespaces only if it could look at us, so we stay
 * dumpable. Code of a cell can't look: we keep our capabilities, it has none.
 */
static void init_stay(void) {
    setsid();
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* The end of a pid 1's work: it reports, and becomes what init.h says. */
static void init_end(const struct spawn_context *context, const struct pipes *pipes, int kept_fd, int r,
                     const struct error *error) {
    static const int done = 0;
    if (r == 0)
        r = init_become(&context->kept, pipes->status_write, kept_fd, &done, sizeof done);
    spawn_send_report(pipes->status_write, r, error);
    _exit(1);
}

/* The life of a sandbox's pid 1. */
static void init_main(const struct spawn_context *context, struct pipes *pipes) {
    struct error error = {0};
    uint64_t layer;
    int names_fd = -1;
    int r = init_begin(context, pipes, CELL_UID, CELL_GID, &error);
    if (r == 0)
        r = prepare(&error);
    if (r == 0)
        names_fd = spawn_listen_for_names();
    init_stay();
    if (read_layer(pipes->start_read, &layer))
        _exit(0);
    if (r == 0)
        r = mounts_build_sandbox(context->template, layer, &error);
    init_end(context, pipes, names_fd, r, &error);
}

/* The life of the cage's pid 1. */
static void cage_main(const struct spawn_context *context, struct pipes *pipes) {
    struct error error = {0};
    const struct sandbox_host *host = context->template->options->host;
    int r = init_begin(context, pipes, host->worker_uid, host->worker_gid, &error);
    if (r == 0)
        r = mounts_build_empty(&error);
    init_stay();
    init_end(context, pipes, -1, r, &error);
}

/*
 * The cage belongs to the user whom its keepers run as: so the first of them can
 * enter it without a capability.
 */
static pid_t clone_cage(const struct sandbox_host *host) {
    if (setegid(host->worker_gid) || seteuid(host->worker_uid))
        return -1;
    pid_t pid = spawn_clone(SANDBOX_NAMESPACES | SIGCHLD);
    int err = errno;
    if (pid != 0 && (seteuid(0) || setegid(0)))
        _exit(1);
    errno = err;
    return pid;
}

/* Makes both stacks, each with a guard page below it. */
static int make_stacks(struct spawn_context *context) {
    char *stacks = mmap(NULL, STACKS * STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return -errno;
    for (size_t i = 0; i < STACKS; i++)
        if (mprotect(stacks + i * STACK_BYTES, GUARD_BYTES, PROT_NONE))
            return -errno;
    context->stacks = stacks;
    return 0;
}

int spawn_cage(struct spawn_context *context, struct error *ret_error) {
    const struct sandbox_host *host = context->template->options->host;
    struct pipes pipes;
    int r = make_stacks(context);
    if (r)
        return step_failed(ret_error, STEP_MEMORY, -r, "%s", "");
    r = pipes_init(&pipes, ret_error);
    if (r)
        return r;
    pid_t pid = clone_cage(host);
    if (pid == 0)
        cage_main(context, &pipes);
    close_fd(&pipes.status_write);
    if (pid < 0)
        r = step_failed(ret_error, STEP_NAMESPACES, errno, "the cage");
    if (r == 0)
        r = spawn_await_report(pipes.status_read, false, ret_error);
    pipes_fini(&pipes);
    if (r == 0)
        context->cage = pid;
    return r;
}

/* The pid 1 that was made in the cage, by its pid there, or an error. */
struct outcome {
    int result;
    pid_t pid;
    struct error error;
};

/* The argument of the processes that go into the cage. They use the zygote's memory, and it waits for each. */
struct cage_task {
    const struct spawn_context *context;
    struct pipes *pipes;
    int id_fd;
    struct outcome outcome;
};

/*
 * A process that uses our memory on a stack of its own, while we wait until it
 * has ended: nothing of the memory is copied for it. See: clone(2), CLONE_VFORK,
 * which waits for the end of that use alone; if we ended before the process has,
 * it would be left to our parent. (One made with CLONE_PARENT is our parent's to
 * wait for.)
 */
static pid_t clone_and_wait(const struct spawn_context *context, size_t nth, int (*run)(void *), struct cage_task *task,
                            int flags) {
    flags |= CLONE_VM | CLONE_VFORK | SIGCHLD;
    pid_t pid = clone(run, context->stacks + (nth + 1) * STACK_BYTES, flags, task);
    if (pid > 0)
        (void)waitpid(pid, NULL, __WALL);
    return pid;
}

/* Enters the cage's user namespace, and its pid namespace for children. Not dumpable, so that no process of the cage
 * can look at our memory. */
static int enter_cage(const struct spawn_context *context, struct error *error) {
    const struct sandbox_host *host = context->template->options->host;
    auto_fd cage_fd = system_pidfd_open(context->cage);
    if (cage_fd < 0 || prctl(PR_SET_DUMPABLE, 0) || setns(cage_fd, CLONE_NEWUSER | CLONE_NEWPID))
        return step_failed(error, STEP_NAMESPACES, cage_fd < 0 ? -cage_fd : errno, "entering the cage");
    if (syscall(SYS_setresgid, host->worker_gid, host->worker_gid, host->worker_gid) ||
        syscall(SYS_setresuid, host->worker_uid, host->worker_uid, host->worker_uid))
        return step_failed(error, STEP_CREDENTIALS, errno, "in the cage");
    return 0;
}

/*
 * Makes a sandbox as a process of the cage: its pid 1 is a child of the
 * zygote, with the zygote's mounts. Its namespaces belong to the user whom
 * keepers run as, and are children of the cage's: that lets a helper enter them.
 */
static int clone_init(void *argument) {
    struct cage_task *task = argument;
    struct outcome *outcome = &task->outcome;
    outcome->pid = spawn_clone(SANDBOX_NAMESPACES | CLONE_PARENT | SIGCHLD);
    if (outcome->pid == 0) {
        close(task->id_fd);
        init_main(task->context, task->pipes);
    }
    int r = outcome->pid < 0 ? -errno : channel_send_pid(task->id_fd, outcome->pid);
    if (r)
        outcome->result = step_failed(&outcome->error, STEP_NAMESPACES, -r, "%s", "");
    return 0;
}

/*
 * A process is in the pid namespace that it was cloned into, and makes namespaces
 * below that one: so it takes one process that enters the cage, and one cloned there.
 */
static int clone_in_cage(void *argument) {
    struct cage_task *task = argument;
    struct outcome *outcome = &task->outcome;
    outcome->result = enter_cage(task->context, &outcome->error);
    if (outcome->result == 0 && clone_and_wait(task->context, 1, clone_init, task, CLONE_PARENT) < 0)
        outcome->result = step_failed(&outcome->error, STEP_FORK, errno, "%s", "");
    return 0;
}

static int make_id_sockets(int pair[2], struct error *error) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
        return step_failed(error, STEP_PIPE, errno, "%s", "");
    if (setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)) == 0)
        return 0;
    close(pair[0]);
    close(pair[1]);
    return step_failed(error, STEP_PIPE, errno, "%s", "");
}

int spawn_prepare(const struct spawn_context *context, struct prepared *ret_prepared, struct error *ret_error) {
    struct pipes pipes;
    struct prepared prepared = {0};
    int sockets[2];
    int r = make_id_sockets(sockets, ret_error);
    if (r)
        return r;
    auto_fd id_read = sockets[0], id_write = sockets[1];
    r = pipes_init(&pipes, ret_error);
    if (r)
        return r;
    struct cage_task task = {.context = context, .pipes = &pipes, .id_fd = id_write};
    if (clone_and_wait(context, 0, clone_in_cage, &task, 0) < 0)
        task.outcome.result = step_failed(&task.outcome.error, STEP_FORK, errno, "%s", "");
    close_fd(&id_write);
    r = task.outcome.result;
    if (r)
        *ret_error = task.outcome.error;
    else if ((r = channel_receive_pid(id_read, &prepared.pid)))
        r = step_failed(ret_error, STEP_NAMESPACES, -r, "the process ended early");
    prepared.pid_in_cage = task.outcome.pid;
    if (r == 0) {
        prepared.start_fd = steal_fd(&pipes.start_write);
        prepared.status_fd = steal_fd(&pipes.status_read);
        *ret_prepared = prepared;
    }
    pipes_fini(&pipes);
    return r;
}

/* Whether somebody has killed it: then nobody can read there any more. */
static bool has_ended(const struct prepared *prepared) {
    struct pollfd start = {.fd = prepared->start_fd};
    return poll(&start, 1, 0) != 0;
}

void spawn_discard(struct prepared *prepared) {
    if (!has_ended(prepared)) /* its number may be another process's by now */
        kill(prepared->pid, SIGKILL);
    close_fd(&prepared->start_fd);
    close_fd(&prepared->status_fd);
    *prepared = (struct prepared){0};
}

int spawn_finish(struct prepared *prepared, uint64_t layer, struct error *ret_error) {
    int r = write(prepared->start_fd, &layer, sizeof layer) == sizeof layer
                ? spawn_await_report(prepared->status_fd, false, ret_error)
                : step_failed(ret_error, STEP_NAMESPACES, EPIPE, "the process ended early");
    if (r)
        kill(prepared->pid, SIGKILL);
    close_fd(&prepared->start_fd);
    close_fd(&prepared->status_fd);
    return r;
}
