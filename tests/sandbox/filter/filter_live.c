#include "filter_live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

static long ok(long result) {
    return result < 0 ? result : 0;
}

static long call_fork(void) {
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(7);
    return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7 ? 0 : -1;
}

static long call_spawn(void) {
    int status;
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", NULL);
        _exit(1);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 9 ? 0 : -1;
}

static void *be_thread(void *argument) {
    return argument;
}

static long call_thread(void) {
    pthread_t thread;
    int mark;
    void *result = NULL;
    errno = pthread_create(&thread, NULL, be_thread, &mark);
    if (errno || pthread_join(thread, &result))
        return -1;
    return result == &mark ? 0 : -1;
}

static long call_clone_newuser(void) {
    return syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
}

static long call_clone_parent(void) {
    return syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static long call_clone3(void) {
    return syscall(SYS_clone3, 0, 0);
}

static long call_setns(void) {
    return syscall(SYS_setns, 0, CLONE_NEWNET);
}

static long call_unshare(void) {
    return unshare(CLONE_NEWUSER);
}

static long call_unix_socket(void) {
    return ok(socket(AF_UNIX, SOCK_STREAM, 0));
}

static long call_netlink_socket(void) {
    return socket(AF_NETLINK, SOCK_RAW, 0);
}

static long call_ioctl_of_a_pipe(void) {
    int pair[2], bytes = -1;
    if (pipe(pair) || write(pair[1], "abc", 3) != 3)
        return -1;
    return syscall(SYS_ioctl, pair[0], 0x1234567800000000UL | FIONREAD, &bytes) == 0 && bytes == 3 ? 0 : -1;
}

static long call_ioctl_typing(void) {
    return syscall(SYS_ioctl, 0, 0x1234567800000000UL | TIOCSTI, "x");
}

static long call_fifo(void) {
    char path[64];
    (void)snprintf(path, sizeof path, "/tmp/petri-fifo-%d", getpid());
    long r = mkfifo(path, 0600);
    return r == 0 ? unlink(path) : r;
}

static long call_whiteout(void) {
    return mknod("/tmp/petri-whiteout", S_IFCHR | 0600, 0);
}

static long call_ptrace(void) {
    return ptrace(PTRACE_TRACEME, 0, 0, 0);
}

static long call_io_uring(void) {
    return syscall(SYS_io_uring_setup, 1, 0);
}

static long call_seccomp(void) {
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &(uint32_t){SECCOMP_RET_ALLOW});
}

static long call_memfd(void) {
    return ok(memfd_create("petri", MFD_CLOEXEC));
}

static long call_sync(void) {
    return syscall(SYS_syncfs, -1); /* with a descriptor that Linux would refuse */
}

static long call_flush_of_nothing(void) {
    return msync(NULL, 4096, MS_SYNC); /* with memory that Linux would refuse */
}

static long call_lease(void) {
    int fd = open("/proc/self/exe", O_RDONLY);
    return fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK);
}

static long call_large_pipe(void) {
    int pair[2];
    if (pipe(pair))
        return -1;
    int before = fcntl(pair[0], F_GETPIPE_SZ);
    return fcntl(pair[0], F_SETPIPE_SZ, 1 << 20) || fcntl(pair[0], F_GETPIPE_SZ) != before;
}

static long call_attribute(void) {
    return fsetxattr(memfd_create("own", 0), "user.own", "x", 1, 0);
}

static long call_inotify(void) {
    return ok(inotify_init1(0));
}

static long call_huge_page(void) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE;
    return mmap(NULL, 2 << 20, PROT_NONE, flags, -1, 0) == MAP_FAILED ? -1 : 0;
}

static long call_mincore(void) {
    static unsigned char page[4096] __attribute__((aligned(4096))), resident[1];
    return mincore(page, sizeof page, resident);
}

/* As libzmq does in each of its threads. */
static long call_scheduler_as_it_is(void) {
    struct sched_param param;
    int policy;
    errno = pthread_getschedparam(pthread_self(), &policy, &param);
    return errno || (errno = pthread_setschedparam(pthread_self(), policy, &param)) ? -1 : 0;
}

static long call_idle(void) {
    return sched_setscheduler(-1, SCHED_IDLE, NULL); /* of a task that Linux would refuse */
}

static long call_real_time(void) {
    return sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1});
}

static long call_unknown(void) {
    return syscall(1000);
}

static long call_prctl_unknown(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static long call_x32(void) {
    return syscall(0x40000000 | SYS_getpid);
}

static long call_int80(void) {
    long result = 20; /* getpid of i386 */
    __asm__ volatile("int $0x80" : "+a"(result) : : "memory");
    return result;
}

/* err: what the call fails with, 0 for none; signal: what it dies of. */
static const struct {
    const char *what;
    long (*call)(void);
    int err, signal;
} rows[] = {
    {"fork", call_fork, 0, 0},
    {"vfork and exec", call_spawn, 0, 0},
    {"thread", call_thread, 0, 0},
    {"clone(CLONE_NEWUSER)", call_clone_newuser, EPERM, 0},
    {"clone(CLONE_PARENT) without a tracer", call_clone_parent, ENOSYS, 0},
    {"clone3 without a tracer", call_clone3, ENOSYS, 0},
    {"setns without a tracer", call_setns, ENOSYS, 0},
    {"unshare", call_unshare, EPERM, 0},
    {"socket(AF_UNIX)", call_unix_socket, 0, 0},
    {"socket(AF_NETLINK)", call_netlink_socket, EOPNOTSUPP, 0},
    {"ioctl(FIONREAD) with garbage in the high half", call_ioctl_of_a_pipe, 0, 0},
    {"ioctl(TIOCSTI)", call_ioctl_typing, ENOTTY, 0},
    {"mkfifo", call_fifo, 0, 0},
    {"mknod of a whiteout", call_whiteout, EPERM, 0},
    {"ptrace", call_ptrace, EPERM, 0},
    {"io_uring_setup", call_io_uring, ENOSYS, 0},
    {"seccomp", call_seccomp, ENOSYS, 0},
    {"memfd_create", call_memfd, 0, 0},
    {"syncfs", call_sync, 0, 0},
    {"msync(MS_SYNC)", call_flush_of_nothing, 0, 0},
    {"fcntl(F_SETLEASE)", call_lease, EINVAL, 0},
    {"fcntl(F_SETPIPE_SZ)", call_large_pipe, 0, 0},
    {"inotify_init1", call_inotify, ENOSYS, 0},
    {"fsetxattr", call_attribute, EOPNOTSUPP, 0},
    {"mmap(MAP_HUGETLB)", call_huge_page, ENOMEM, 0},
    {"mincore", call_mincore, ENOSYS, 0},
    {"pthread_setschedparam with what it has", call_scheduler_as_it_is, 0, 0},
    {"sched_setscheduler(SCHED_IDLE)", call_idle, 0, 0},
    {"sched_setscheduler(SCHED_FIFO)", call_real_time, EPERM, 0},
    {"number 1000", call_unknown, ENOSYS, 0},
    {"prctl(PR_SET_CHILD_SUBREAPER)", call_prctl_unknown, EINVAL, 0},
    {"getpid of x32", call_x32, 0, SIGSYS},
    {"int 0x80", call_int80, 0, SIGSYS},
};

enum { EXIT_NOT_INSTALLED = 200, EXIT_NO_FAILURE = 201 };

/* In the child: the exit status is the errno of the call. */
static void make_call(const struct filter *filter, long (*call)(void)) {
    struct sock_fprog program = {.len = (unsigned short)filter->n, .filter = filter->program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program))
        _exit(EXIT_NOT_INSTALLED);
    errno = 0;
    long result = call();
    _exit(result == 0 ? 0 : errno ? errno : EXIT_NO_FAILURE);
}

void filter_live_check(const struct filter *filter) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0)
            make_call(filter, rows[i].call);
        assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
        if (rows[i].signal ? !WIFSIGNALED(status) || WTERMSIG(status) != rows[i].signal
                           : !WIFEXITED(status) || WEXITSTATUS(status) != rows[i].err)
            fail_msg("%s: wait status %#x, expected errno %d or signal %d", rows[i].what, (unsigned)status, rows[i].err,
                     rows[i].signal);
    }
}
