/*
 * enter.c - from the process Jupyter started to pid 1 of namespaces of our own.
 *
 *     outer   the pid Jupyter knows; passes signals on, dies with the inner one
 *       inner   pid 1 of the new pid namespace: the kernel itself
 *
 * As root, a session's cells get a uid and gid that no user of the host has and no
 * other session; an ordinary user can map only the own uid.
 */
#define _GNU_SOURCE
#include "base/cleanup.h"
#include "sandbox/base/step.h"
#include "sandbox/base/system.h"
#include "sandbox/limits/resources.h"
#include "sandbox/limits/user_limits.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/*
 * Where the ids of sessions come from: above what distributions, subuid files,
 * systemd-nspawn (to 0x6fffffff) and sssd (to 2000200000) give out by
 * themselves, below what systemd calls foreign. No session can see those in
 * other containers, so ids are drawn, and there are many: with a hundred sessions
 * at once one in 27,000 times two have the same. Each takes one id, for
 * cells have only one user.
 */
enum {
    PRIVATE_UID = 1000, /* in the inner user namespace, as root */
    NO_SESSIONS_ID = 0x78000000,
    FIRST_ID = NO_SESSIONS_ID + 1,
    IDS = 0x7ffe0000 - FIRST_ID,
};

/* How ids of the inner user namespace map to those outside. */
struct id_map {
    unsigned inside;     /* one id inside */
    unsigned outside;    /* and what it is outside */
    unsigned private_id; /* what PRIVATE_UID is outside, where that is mapped */
    bool has_private;
};

/*
 * Whether an id exists here: root of a small user namespace (a rootless
 * container) has none to give, and is an ordinary user to us.
 */
static bool is_mapped(const char *path, unsigned id) {
    unsigned long inside, outside, n;
    auto_file file = fopen(path, "re");
    while (file && fscanf(file, "%lu %lu %lu", &inside, &outside, &n) == 3)
        if (inside <= id && id < inside + n)
            return true;
    return false;
}

/* 0, or -errno. */
static int choose_ids(struct id_map *ret_uids, struct id_map *ret_gids) {
    unsigned drawn;
    if (getrandom(&drawn, sizeof drawn, 0) != sizeof drawn)
        return -errno;
    unsigned id = FIRST_ID + drawn % IDS;
    bool has_private = geteuid() == 0 && is_mapped("/proc/self/uid_map", id) && is_mapped("/proc/self/gid_map", id);
    *ret_uids = (struct id_map){.outside = geteuid(), .private_id = id, .has_private = has_private};
    *ret_gids = (struct id_map){.outside = getegid(), .private_id = id, .has_private = has_private};
    return 0;
}

static int write_map(pid_t pid, const char *file, const struct id_map *map) {
    char path[64], text[96];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    int n = snprintf(text, sizeof text, "%u %u 1\n", map->inside, map->outside);
    if (map->has_private)
        snprintf(text + n, sizeof text - (size_t)n, "%d %u 1\n", PRIVATE_UID, map->private_id);
    return system_write_file(AT_FDCWD, path, text);
}

static int write_maps(pid_t pid, const struct id_map *uids, const struct id_map *gids) {
    char path[64];
    int r = write_map(pid, "uid_map", uids);
    if (r == 0 && !gids->has_private) {
        snprintf(path, sizeof path, "/proc/%d/setgroups", pid);
        r = system_write_file(AT_FDCWD, path, "deny");
    }
    return r ? r : write_map(pid, "gid_map", gids);
}

/* Waits for a byte on fd; -EPIPE where the other side is gone. */
static int await_byte(int fd) {
    char byte;
    ssize_t n;
    do
        n = read(fd, &byte, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? 0 : -EPIPE;
}

/*
 * A child that writes the maps of its parent from outside of the parent's new
 * user namespace: a map of more than one's own id needs that. Its exit status
 * is the errno.
 */
static pid_t start_map_writer(const struct id_map *uids, const struct id_map *gids, const int ready[2]) {
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(ready[1]);
        _exit(await_byte(ready[0]) ? EPIPE : -write_maps(parent, uids, gids));
    }
    return pid;
}

static int enter_user_namespace(const struct id_map *uids, const struct id_map *gids, struct error *error) {
    int ready[2], status;
    if (pipe2(ready, O_CLOEXEC))
        return step_failed(error, STEP_PIPE, errno, "%s", "");
    pid_t writer = start_map_writer(uids, gids, ready);
    auto_fd write_end = ready[1];
    close(ready[0]);
    if (writer < 0)
        return step_failed(error, STEP_FORK, errno, "%s", "");
    int failed = unshare(CLONE_NEWUSER) ? errno : 0;
    if (failed || write(write_end, "", 1) != 1)
        close_fd(&write_end);
    if (waitpid(writer, &status, 0) != writer || !WIFEXITED(status))
        status = EIO << 8;
    if (failed)
        return step_failed(error, STEP_USER_NAMESPACE, failed, "%s", "");
    if (WEXITSTATUS(status))
        return step_failed(error, STEP_ID_MAP, WEXITSTATUS(status), "%s", "");
    return 0;
}

/* The child of make_map_namespace(): has the namespace, and ends when its parent closes its end or is no more. */
static void hold_map_namespace(int ready_fd, int done_fd) {
    if (unshare(CLONE_NEWUSER) == 0 && write(ready_fd, "", 1) == 1)
        (void)await_byte(done_fd);
    _exit(0);
}

static int open_mapped_namespace(pid_t pid, const struct id_map *uids, const struct id_map *gids) {
    char path[64];
    int r = write_maps(pid, uids, gids);
    if (r < 0)
        return r;
    snprintf(path, sizeof path, "/proc/%d/ns/user", pid);
    r = open(path, O_RDONLY | O_CLOEXEC);
    return r < 0 ? -errno : r;
}

/* A user namespace, as a descriptor, whose map turns owner into the cells' user. For an idmapped mount. */
static int make_map_namespace(const struct id_map *uids, const struct id_map *gids) {
    int ready[2], done[2];
    if (pipe2(ready, O_CLOEXEC))
        return -errno;
    auto_fd ready_end = ready[0];
    if (pipe2(done, O_CLOEXEC))
        return close(ready[1]), -errno;
    pid_t pid = fork();
    if (pid == 0) {
        close(done[1]);
        hold_map_namespace(ready[1], done[0]);
    }
    close(ready[1]);
    close(done[0]);
    int r = pid < 0 ? -EAGAIN : await_byte(ready_end);
    if (r == 0)
        r = open_mapped_namespace(pid, uids, gids);
    close(done[1]);
    if (pid > 0)
        waitpid(pid, NULL, 0);
    return r;
}

/*
 * The notebook's folder with its owner shown as the cells' user, so that a cell
 * may read what its owner may. Only root can have it, and not on every file
 * system, nor for all that is mounted in it; -1 where it is not to be had: then
 * the files' own modes decide. The folder's group has to be mapped, too, or
 * none of its files could be written to: where it is not to be the cells', it
 * becomes an id that no session has.
 */
static int open_mapped(const struct sandbox_folder *folder, const struct id_map *uids, const struct id_map *gids) {
    struct stat st;
    if (!uids->has_private || !folder->map_owner || fstat(folder->fd, &st))
        return -1;
    auto_fd fd = system_open_tree_of(folder->fd);
    if (fd < 0)
        return -1;
    struct id_map owner = {.inside = st.st_uid, .outside = uids->private_id};
    struct id_map group = {.inside = st.st_gid, .outside = folder->map_group ? gids->private_id : NO_SESSIONS_ID};
    auto_fd map = make_map_namespace(&owner, &group);
    if (map < 0 || (system_mount_setattr(fd, "", 1, MOUNT_ATTR_IDMAP, map) < 0 &&
                    system_mount_setattr(fd, "", 0, MOUNT_ATTR_IDMAP, map) < 0))
        return -1;
    return steal_fd(&fd);
}

static void remove_groups(const struct resources_backend *backend) {
    char name[64];
    resources_name(name, sizeof name);
    if (backend)
        backend->remove(name);
}

/* The end of the outer process. */
static void leave(int status, const struct resources_backend *backend) {
    remove_groups(backend);
    _exit(status);
}

static void relay_signals(pid_t inner, const sigset_t *signals, const struct resources_backend *backend) {
    auto_fd signal_fd = signalfd(-1, signals, SFD_CLOEXEC);
    auto_fd parent_fd = getenv("JPY_PARENT_PID") ? system_pidfd_open(getppid()) : -1;
    struct pollfd fds[] = {{.fd = signal_fd, .events = POLLIN}, {.fd = parent_fd, .events = POLLIN}};
    int status = 1 << 8;
    for (;;) {
        struct signalfd_siginfo info;
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[1].revents) {
            kill(inner, SIGTERM);
            fds[1].fd = -1;
        }
        if (fds[0].revents && read(signal_fd, &info, sizeof info) == sizeof info && info.ssi_signo != SIGCHLD)
            kill(inner, (int)info.ssi_signo);
        if (waitpid(inner, &status, WNOHANG) == inner)
            break;
        status = 1 << 8;
    }
    leave(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), backend);
}

/* In the inner process: has it die with the outer one, and gives it a session, mounts and a /proc of its own. The
 * working folder stays, whatever its name leads to by now. */
static int settle(int alive_fd, struct error *error) {
    struct pollfd outer = {.fd = alive_fd};
    /* The byte comes when the outer process is our parent; whose death kills us from then on, and is seen if it came
     * before. */
    if (await_byte(alive_fd) || prctl(PR_SET_PDEATHSIG, SIGKILL) || poll(&outer, 1, 0) < 0 || outer.revents)
        return step_failed(error, STEP_FORK, EPIPE, "the parent is gone");
    setsid();
    if (unshare(CLONE_NEWNS))
        return step_failed(error, STEP_MOUNT_NAMESPACE, errno, "%s", "");
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return step_failed(error, STEP_MOUNT_NAMESPACE, errno, "making / private");
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return step_failed(error, STEP_MOUNT_PROC, errno, "%s", "");
    return 0;
}

/* What the inner process tells the outer one once it has settled or failed. */
struct settled {
    int result;
    struct error error;
};

static int await_settled(int fd, pid_t inner, struct error *error) {
    struct settled settled;
    if (read(fd, &settled, sizeof settled) != sizeof settled)
        settled = (struct settled){-EIO, {.step = STEP_FORK, .err = EIO}};
    if (settled.result) {
        kill(inner, SIGKILL);
        waitpid(inner, NULL, 0);
        *error = settled.error;
    }
    return settled.result;
}

/*
 * Starts pid 1 of a new pid namespace. That takes a child in between: a
 * process that has made a pid namespace for its children can't start threads any
 * more, and this one may have to go on without sandboxes. The new process becomes
 * our child when the one between has ended. Returns 0 in it, its pid in ours, or
 * -errno.
 */
static pid_t fork_inner(void) {
    pid_t inner = -1;
    int report[2], status;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) || pipe2(report, O_CLOEXEC))
        return -errno;
    pid_t between = fork();
    if (between == 0) {
        if (unshare(CLONE_NEWPID))
            _exit(errno);
        inner = fork();
        if (inner == 0) {
            close(report[0]);
            close(report[1]);
            return 0;
        }
        _exit(inner > 0 && write(report[1], &inner, sizeof inner) == sizeof inner ? 0 : EAGAIN);
    }
    close(report[1]);
    auto_fd read_end = report[0];
    if (between < 0 || waitpid(between, &status, 0) != between)
        return -EAGAIN;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -EAGAIN;
    return read(read_end, &inner, sizeof inner) == sizeof inner ? inner : -EPIPE;
}

static int start_inner(const int *moving_fds, const struct resources_backend *backend, struct error *error) {
    int alive[2], report[2];
    sigset_t signals, before;
    if (pipe2(alive, O_CLOEXEC) || pipe2(report, O_CLOEXEC))
        return step_failed(error, STEP_PIPE, errno, "%s", "");
    sigemptyset(&signals);
    for (const int *s = (const int[]){SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD, 0}; *s; s++)
        sigaddset(&signals, *s);
    sigprocmask(SIG_BLOCK, &signals, &before);
    pid_t inner = fork_inner();
    if (inner == 0) {
        struct settled settled = {0};
        close(alive[1]);
        settled.result = settle(alive[0], &settled.error);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (write(report[1], &settled, sizeof settled) != sizeof settled || settled.result)
            _exit(1);
        close(alive[0]);
        close(report[0]);
        close(report[1]);
        return 0;
    }
    close(alive[0]);
    close(report[1]);
    auto_fd alive_end = alive[1], report_end = report[0]; /* the first is open for as long as we live */
    int r = inner < 0 ? step_failed(error, STEP_PID_NAMESPACE, -inner, "%s", "") : 0;
    if (r == 0)
        r = write(alive_end, "", 1) == 1 ? await_settled(report_end, inner, error)
                                         : step_failed(error, STEP_FORK, errno, "the new process is gone");
    if (r == 0) {
        for (; moving_fds && *moving_fds >= 0; moving_fds++)
            close(*moving_fds);
        relay_signals(inner, &signals, backend);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return r;
}

/*
 * Refuses to run set-user-ID or set-group-ID, or with capabilities as an ordinary
 * user: petri has no use for them, and a mistake in it would give them away.
 */
static int refuse_privileges(struct error *error) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (getuid() != geteuid() || getgid() != getegid())
        return step_failed(error, STEP_PRIVILEGES, EPERM, "another user's or group's");
    if (syscall(SYS_capget, &header, data))
        return step_failed(error, STEP_PRIVILEGES, errno, "%s", "");
    if (geteuid() != 0 && (data[0].permitted || data[1].permitted))
        return step_failed(error, STEP_PRIVILEGES, EPERM, "capabilities %08x%08x", data[1].permitted,
                           data[0].permitted);
    return 0;
}

/* In the namespaces: opens the folder without an id mapping. It is taken from the working folder, which Linux has moved
 * to the new mount namespace, as it moves no descriptor. */
static int open_as_it_is(struct error *error) {
    int fd = system_open_tree(".", 1);
    return fd < 0 ? step_failed(error, STEP_MOUNT_BIND, -fd, "the notebook's folder") : fd;
}

int sandbox_enter(const struct sandbox_folder *folder, const struct sandbox_bounds *bounds, const int *moving_fds,
                  struct sandbox_host *ret_host, struct error *ret_error) {
    struct id_map uids = {0}, gids = {0};
    int refused = refuse_privileges(ret_error);
    if (refused)
        return refused;
    int drawn = choose_ids(&uids, &gids);
    if (drawn)
        return step_failed(ret_error, STEP_ID_MAP, -drawn, "getrandom");
    user_limits_raise_own();
    if (uids.has_private && setgroups(0, NULL))
        return step_failed(ret_error, STEP_CREDENTIALS, errno, "setgroups");
    auto_fd folder_fd = folder->fd < 0 ? -1 : open_mapped(folder, &uids, &gids);
    if (folder->fd >= 0 && fchdir(folder->fd))
        return step_failed(ret_error, STEP_MOUNT_BIND, errno, "the notebook's folder");
    ret_host->backend = resources_find(bounds, ret_host);
    int r = enter_user_namespace(&uids, &gids, ret_error);
    if (r == 0)
        r = start_inner(moving_fds, ret_host->backend, ret_error);
    if (r == 0 && folder->fd >= 0 && folder_fd < 0)
        r = folder_fd = open_as_it_is(ret_error);
    if (r < 0) {
        remove_groups(ret_host->backend);
        return r;
    }
    ret_host->worker_uid = ret_host->worker_gid = uids.has_private ? PRIVATE_UID : 0;
    ret_host->folder_fd = steal_fd(&folder_fd);
    return 0;
}
