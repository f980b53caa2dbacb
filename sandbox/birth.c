#define _GNU_SOURCE
#include "birth.h"

#include "cleanup.h"
#include "error.h"
#include "mounts.h"
#include "system.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { CELL_UID = 1000, CELL_GID = 1000 }; /* inside of a sandbox */

#define WORKER_NAMESPACES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)
#define SANDBOX_NAMESPACES (WORKER_NAMESPACES | CLONE_NEWUSER | CLONE_NEWPID)

struct report {
    int result;
    struct sandbox_error error;
};

static pid_t clone_process(unsigned long flags) {
    return (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, 0);
}

/* Reads what a child reports; the end of the pipe without a report is success: the child has exec'ed. */
static int await_report(int fd, bool end_is_success, struct sandbox_error *error) {
    struct report report = {0};
    ssize_t n;
    do
        n = read(fd, &report, sizeof report);
    while (n < 0 && errno == EINTR);
    if (n == 0 && end_is_success)
        return 0;
    if (n != sizeof report)
        return error_set(error, STEP_NAMESPACES, EPIPE, "the process ended early");
    if (report.result)
        *error = report.error;
    return report.result;
}

static void report(int fd, int result, const struct sandbox_error *error) {
    struct report packet = {.result = result, .error = *error};
    if (write(fd, &packet, sizeof packet) != sizeof packet || result)
        _exit(1);
}

/* Loopback up, so that what connects to it sees "refused" and not a surprise. See: netdevice(7). */
static int raise_loopback(struct sandbox_error *error) {
    struct ifreq request = {.ifr_name = "lo"};
    auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &request))
        return error_set(error, STEP_NETWORK, errno, "%s", "");
    return 0;
}

static int name_host(struct sandbox_error *error) {
    return sethostname("petri", 5) ? error_set(error, STEP_HOSTNAME, errno, "%s", "") : 0;
}

/* An embryo's part of the work: who it is, and what needs no layer. */
static int grow(struct sandbox_error *error) {
    if (setresgid(CELL_GID, CELL_GID, CELL_GID) || setresuid(CELL_UID, CELL_UID, CELL_UID))
        return error_set(error, STEP_CREDENTIALS, errno, "%s", "");
    int r = mounts_build_proc(false, error);
    if (r == 0)
        r = raise_loopback(error);
    return r ? r : name_host(error);
}

static int read_layer(int fd, uint64_t *ret_layer) {
    ssize_t n;
    do
        n = read(fd, ret_layer, sizeof *ret_layer);
    while (n < 0 && errno == EINTR);
    return n == sizeof *ret_layer ? 0 : -EPIPE;
}

/* The life of a sandbox's pid 1: ended processes are reaped without it (SIGCHLD is ignored), so it only has to be. */
static void init_main(const struct template *template, int go_fd, int report_fd) {
    struct sandbox_error error = {0};
    char mapped;
    uint64_t layer;
    prctl(PR_SET_NAME, "petri-init");
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read(go_fd, &mapped, 1) != 1)
        _exit(1);
    int r = grow(&error);
    setsid();
    /*
     * A helper may enter our namespaces only if it could look at us, so we stay
     * dumpable. Code of a cell can't look: we keep our capabilities, it has none.
     */
    prctl(PR_SET_DUMPABLE, 1);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (read_layer(go_fd, &layer))
        _exit(0);
    if (r == 0)
        r = mounts_build_sandbox(template, layer, &error);
    report(report_fd, r, &error);
    close_range(0, ~0U, 0);
    for (;;)
        pause();
}

static int write_id_map(pid_t pid, const char *file, unsigned inside, unsigned outside) {
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    snprintf(text, sizeof text, "%u %u 1\n", inside, outside);
    return system_write_file(AT_FDCWD, path, text);
}

static int map_ids(pid_t pid, const struct sandbox_ground *ground, struct sandbox_error *error) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
    int r = write_id_map(pid, "uid_map", CELL_UID, ground->worker_uid);
    if (r == 0)
        r = system_write_file(AT_FDCWD, path, "deny");
    if (r == 0)
        r = write_id_map(pid, "gid_map", CELL_GID, ground->worker_gid);
    return r ? error_set(error, STEP_ID_MAP, -r, "%s", "") : 0;
}

/*
 * The namespaces belong to the user whom the keepers run as: that alone lets a
 * helper on a keeper's address space enter them, with no capability.
 */
static pid_t clone_sandbox(const struct sandbox_ground *ground) {
    if (seteuid(ground->worker_uid))
        return -1;
    pid_t pid = clone_process(SANDBOX_NAMESPACES | SIGCHLD);
    int err = errno;
    if (pid != 0 && seteuid(0))
        _exit(1);
    errno = err;
    return pid;
}

int birth_begin(const struct template *template, struct embryo *ret_embryo, struct sandbox_error *ret_error) {
    int go[2], said[2];
    if (pipe2(go, O_CLOEXEC))
        return error_set(ret_error, STEP_PIPE, errno, "%s", "");
    auto_fd go_read = go[0], go_write = go[1];
    if (pipe2(said, O_CLOEXEC))
        return error_set(ret_error, STEP_PIPE, errno, "%s", "");
    auto_fd said_read = said[0], said_write = said[1];
    pid_t pid = clone_sandbox(template->options->ground);
    if (pid == 0) {
        close(go[1]);
        init_main(template, go[0], said[1]);
    }
    if (pid < 0)
        return error_set(ret_error, STEP_NAMESPACES, errno, "%s", "");
    int r = map_ids(pid, template->options->ground, ret_error);
    if (r == 0 && write(go_write, "", 1) != 1)
        r = error_set(ret_error, STEP_NAMESPACES, EPIPE, "the process ended early");
    if (r) {
        kill(pid, SIGKILL);
        return r;
    }
    *ret_embryo = (struct embryo){.pid = pid, .go_fd = steal_fd(&go_write), .said_fd = steal_fd(&said_read)};
    return 0;
}

int birth_finish(struct embryo *embryo, uint64_t layer, struct sandbox_error *ret_error) {
    int r = write(embryo->go_fd, &layer, sizeof layer) == sizeof layer
                ? await_report(embryo->said_fd, false, ret_error)
                : error_set(ret_error, STEP_NAMESPACES, EPIPE, "the process ended early");
    if (r)
        kill(embryo->pid, SIGKILL);
    close_fd(&embryo->go_fd);
    close_fd(&embryo->said_fd);
    return r;
}

/* Puts the worker's descriptors in their places and closes all others but report_fd, which is close-on-exec. */
static int arrange_descriptors(const struct nursery_boot *boot, int *report_fd) {
    int high[5] = {open("/dev/null", O_RDONLY), boot->stdout_fd, boot->stderr_fd, boot->control_fd, boot->trace_fd};
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
static int drop_privileges(const struct sandbox_ground *ground) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
            return -errno;
    if (prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0))
        return -errno;
    if (setresgid(ground->worker_gid, ground->worker_gid, ground->worker_gid) ||
        setresuid(ground->worker_uid, ground->worker_uid, ground->worker_uid))
        return -errno;
    return syscall(SYS_capset, &header, none) ? -errno : 0;
}

/* By the system call itself: libc keeps two signals to itself, and whoever started us may have them ignored. */
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

static int go_to_folder(const struct template *template, struct sandbox_error *error) {
    const char *folder = mounts_shows_folder_path(template->options) ? template->options->folder : "/work";
    return chdir(folder) ? error_set(error, STEP_MOUNT_BIND, errno, "%s", folder) : 0;
}

static void worker_main(const struct template *template, const struct nursery_boot *boot, uint64_t layer,
                        int report_fd) {
    const struct session_options *options = template->options;
    struct sandbox_error error = {0};
    int step;
    int r = mounts_build_sandbox(template, layer, &error);
    if (r == 0)
        r = raise_loopback(&error);
    if (r == 0)
        r = name_host(&error);
    if (r == 0)
        r = go_to_folder(template, &error);
    if (r == 0 && (step = arrange_descriptors(boot, &report_fd)))
        r = error_set(&error, STEP_PIPE, -step, "%s", "");
    setsid();
    reset_signals();
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (r == 0 && (step = drop_privileges(template->options->ground)))
        r = error_set(&error, STEP_CREDENTIALS, -step, "%s", "");
    if (r == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        r = error_set(&error, STEP_NO_NEW_PRIVS, errno, "%s", "");
    if (r == 0) {
        execve(options->argv[0], (char *const *)(size_t)options->argv, (char *const *)(size_t)options->env);
        r = error_set(&error, STEP_EXEC, errno, "%s", options->argv[0]);
    }
    report(report_fd, r, &error);
    _exit(1);
}

int birth_worker(const struct template *template, const struct nursery_boot *boot, uint64_t layer, pid_t *ret_pid,
                 struct sandbox_error *ret_error) {
    int said[2];
    if (pipe2(said, O_CLOEXEC))
        return error_set(ret_error, STEP_PIPE, errno, "%s", "");
    pid_t pid = clone_process(WORKER_NAMESPACES | CLONE_PARENT | SIGCHLD);
    if (pid == 0) {
        close(said[0]);
        worker_main(template, boot, layer, said[1]);
    }
    close(said[1]);
    auto_fd said_read = said[0];
    if (pid < 0)
        return error_set(ret_error, STEP_NAMESPACES, errno, "%s", "");
    int r = await_report(said_read, true, ret_error);
    if (r == 0)
        *ret_pid = pid;
    return r;
}
