/*
 * spawn_worker.c - the worker: a cell's view and a cell's privileges, without a sandbox of its own.
 *
 * It warms up before the first cell, outside of the cage, and becomes image 0.
 * Descriptors are arranged before privileges are dropped and these before the
 * exec, so that the interpreter has never had more than a cell.
 */
#define _GNU_SOURCE
#include "sandbox/spawn/spawn.h"

#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/files/layers.h"
#include "sandbox/mounts/mounts.h"
#include "sandbox/spawn/spawn_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/securebits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Puts the worker's descriptors in their places and closes all others but report_fd, which is close-on-exec. */
static int arrange_descriptors(const struct worker_fds *worker_fds, int *report_fd) {
    int high[5] = {open("/dev/null", O_RDONLY), worker_fds->stdout_fd, worker_fds->stderr_fd, worker_fds->control_fd,
                   worker_fds->trace_fd};
    enum { N = 5 };
    for (int i = 0; i < N; i++)
        if (high[i] < 0 || (high[i] = fcntl(high[i], F_DUPFD_CLOEXEC, 64)) < 0)
            return -errno;
    if ((*report_fd = fcntl(*report_fd, F_DUPFD_CLOEXEC, 64)) < 0)
        return -errno;
    for (int i = 0; i < N; i++)
        if (dup2(high[i], i) < 0)
            return -errno;
    /* At 5, out of the interpreter's way: the numbers that it gives its own files start low and stay the same. */
    if (dup3(*report_fd, N, O_CLOEXEC) < 0)
        return -errno;
    *report_fd = N;
    return close_range(N + 1, ~0U, 0) ? -errno : 0;
}

/* No capability, now or after an exec. See: capabilities(7). */
static int drop_privileges(const struct sandbox_host *host) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
            return -errno;
    if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0))
        return -errno;
    if (setresgid(host->worker_gid, host->worker_gid, host->worker_gid) ||
        setresuid(host->worker_uid, host->worker_uid, host->worker_uid))
        return -errno;
    return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* With the system call itself: libc refuses to set two signals that it uses itself, and they may have been inherited as
 * ignored. */
static void reset_signals(void) {
    const struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } fresh = {0};
    sigset_t none;
    sigemptyset(&none);
    for (int s = 1; s < NSIG; s++)
        (void)syscall(SYS_rt_sigaction, s, &fresh, NULL, sizeof fresh.mask); /* not SIGKILL, not SIGSTOP */
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* With a limit of 0 Linux would still start the host's handler that cores are piped to; with 1 it does not. See:
 * core(5). */
static void forbid_cores(void) {
    if (setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}))
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the hard limit is 0 already */
}

static int go_to_folder(const struct template *template, struct error *error) {
    const char *folder = mounts_shows_folder_path(template->options) ? template->options->folder : "/work";
    return chdir(folder) ? step_failed(error, STEP_MOUNT_BIND, errno, "%s", folder) : 0;
}

static void worker_main(const struct template *template, const struct worker_fds *worker_fds, int report_fd) {
    const struct session_options *options = template->options;
    struct error error = {0};
    int step;
    spawn_raise_loopback();
    int r = mounts_begin_sandbox(&error);
    if (r == 0)
        r = mounts_build_sandbox(template, LAYER_LIVE, &error);
    if (r == 0)
        r = go_to_folder(template, &error);
    if (r == 0 && (step = arrange_descriptors(worker_fds, &report_fd)))
        r = step_failed(&error, STEP_PIPE, -step, "%s", "");
    setsid();
    reset_signals();
    forbid_cores();
    if (r == 0 && (step = drop_privileges(template->options->host)))
        r = step_failed(&error, STEP_CREDENTIALS, -step, "%s", "");
    if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        r = step_failed(&error, STEP_NO_NEW_PRIVS, errno, "%s", "");
    if (r == 0) {
        execve(options->argv[0], (char *const *)(size_t)options->argv, (char *const *)(size_t)options->env);
        r = step_failed(&error, STEP_EXEC, errno, "%s", options->argv[0]);
    }
    spawn_send_report(report_fd, r, &error);
    _exit(1);
}

int spawn_worker(const struct template *template, const struct worker_fds *worker_fds, pid_t *ret_pid,
                 struct error *ret_error) {
    int status[2];
    if (pipe2(status, O_CLOEXEC))
        return step_failed(ret_error, STEP_PIPE, errno, "%s", "");
    pid_t pid = spawn_clone(SPAWN_NAMESPACES | CLONE_PARENT | SIGCHLD);
    if (pid == 0) {
        close(status[0]);
        worker_main(template, worker_fds, status[1]);
    }
    close(status[1]);
    auto_fd status_read = status[0];
    if (pid < 0)
        return step_failed(ret_error, STEP_NAMESPACES, errno, "%s", "");
    int r = spawn_await_report(status_read, true, ret_error);
    if (r == 0)
        *ret_pid = pid;
    return r;
}
