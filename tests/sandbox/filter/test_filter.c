/* The policy of cells: its table, what the program made of it answers, and that Linux reads the program alike. */
#include "sandbox/filter/filter.h"
#include "sandbox/inject/inject.h"
#include "tests/sandbox/filter/filter_live.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <termios.h>

#include <cmocka.h>

/* Of the calls in the table, those that came to Linux after the oldest libseccomp that is supported (2.5). */
static const char *const newer[] = {
    "cachestat",
    "fchmodat2",
    "futex_requeue",
    "futex_wait",
    "futex_waitv",
    "futex_wake",
    "lsm_get_self_attr",
    "lsm_set_self_attr",
    "lsm_list_modules",
    "listmount",
    "statmount",
    "map_shadow_stack",
    "mseal",
    "quotactl_fd",
    "process_mrelease",
    "memfd_secret",
    "set_mempolicy_home_node",
};

#define GARBAGE 0xdeadbeef00000000ULL
#define ERR(e) (SECCOMP_RET_ERRNO | (e))
#define ALLOW SECCOMP_RET_ALLOW
#define NOTHING ERR(0)
#define TRACE SECCOMP_RET_TRACE
#define THREAD_FLAGS                                                                                                   \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |                 \
     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* What a program must return, with FILTER_DENY as an errno. A number where libc has no name. */
static const struct {
    int number;
    uint64_t argument[6];
    uint32_t verdict;
    const char *what;
} verdicts[] = {
    {SYS_read, {0}, ALLOW, "read"},
    {SYS_clone, {SIGCHLD}, ALLOW, "fork"},
    {SYS_clone, {SIGCHLD | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID}, ALLOW, "fork as glibc has it"},
    {SYS_clone, {THREAD_FLAGS}, ALLOW, "a thread"},
    {SYS_clone, {CLONE_VM | CLONE_VFORK | SIGCHLD}, ALLOW, "posix_spawn"},
    {SYS_clone, {THREAD_FLAGS & ~CLONE_FILES}, ERR(EPERM), "a thread with descriptors of its own"},
    {SYS_clone, {THREAD_FLAGS & ~CLONE_FS}, ERR(EPERM), "a thread with a folder of its own"},
    {SYS_clone, {THREAD_FLAGS | CLONE_PARENT}, ERR(EPERM), "a thread that no keeper makes"},
    {SYS_close_range, {3, ~0U, 0}, ALLOW, "closing many"},
    {SYS_close_range, {3, ~0U, CLOSE_RANGE_CLOEXEC}, ALLOW, "closing many at an exec"},
    {SYS_close_range, {3, ~0U, CLOSE_RANGE_UNSHARE}, ERR(EPERM), "and having a table of its own"},
    {SYS_close_range, {3, ~0U, CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC}, ERR(EPERM), "both"},
    {SYS_clone, {GARBAGE | SIGCHLD}, ALLOW, "Linux ignores the high half of the flags"},
    {SYS_clone, {0x80 | CLONE_VM}, ALLOW, "the low byte is the exit signal, not CLONE_NEWTIME"},
    {SYS_clone, {CLONE_NEWUSER | SIGCHLD}, ERR(EPERM), "user namespace"},
    {SYS_clone, {CLONE_NEWPID | SIGCHLD}, ERR(EPERM), "pid namespace"},
    {SYS_clone, {CLONE_NEWNS | SIGCHLD}, ERR(EPERM), "mount namespace"},
    {SYS_clone, {CLONE_NEWNET | SIGCHLD}, ERR(EPERM), "network namespace"},
    {SYS_clone, {CLONE_NEWIPC | SIGCHLD}, ERR(EPERM), "ipc namespace"},
    {SYS_clone, {CLONE_NEWUTS | SIGCHLD}, ERR(EPERM), "uts namespace"},
    {SYS_clone, {CLONE_NEWCGROUP | SIGCHLD}, ERR(EPERM), "cgroup namespace"},
    {SYS_clone, {GARBAGE | CLONE_NEWUSER}, ERR(EPERM), "the high half hides nothing"},
    {SYS_clone, {CLONE_NEWUSER | CLONE_PARENT | SIGCHLD}, ERR(EPERM), "not even while we trace"},
    {SYS_clone, {CLONE_PARENT | SIGCHLD}, TRACE, "a sibling is ours to make"},
    {SYS_clone, {CLONE_PTRACE | SIGCHLD}, TRACE, "a tracee is ours to make"},
    {SYS_clone, {CLONE_UNTRACED | SIGCHLD}, TRACE, "an escape from tracing"},
    {SYS_clone3, {0}, TRACE, "clone3"},
    {SYS_setns, {3, CLONE_NEWUSER}, TRACE, "setns"},
    {SYS_unshare, {CLONE_NEWUSER}, ERR(EPERM), "unshare"},
    {SYS_socket, {AF_UNIX, SOCK_STREAM}, ALLOW, "AF_UNIX"},
    {SYS_socket, {AF_INET, SOCK_STREAM}, ALLOW, "AF_INET"},
    {SYS_socket, {AF_INET6, SOCK_DGRAM}, ALLOW, "AF_INET6"},
    {SYS_socket, {GARBAGE | AF_INET, SOCK_DGRAM}, ALLOW, "an int has no high half"},
    {SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_TCP}, ALLOW, "TCP"},
    {SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_UDP}, ALLOW, "UDP"},
    {SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}, ERR(EPROTONOSUPPORT), "SCTP, a module"},
    {SYS_socket, {AF_INET, SOCK_STREAM, 33}, ERR(EPROTONOSUPPORT), "DCCP, a module"},
    {SYS_socket, {AF_INET, SOCK_DGRAM, 115}, ERR(EPROTONOSUPPORT), "L2TP, a module"},
    {SYS_socket, {AF_INET6, SOCK_STREAM, 262}, ERR(EPROTONOSUPPORT), "MPTCP"},
    {SYS_pkey_alloc, {0}, ERR(ENOSPC), "a protection key"},
    {SYS_socket, {AF_NETLINK, SOCK_RAW}, ERR(EOPNOTSUPP), "AF_NETLINK, as getifaddrs asks for it"},
    {SYS_socket, {AF_PACKET, SOCK_RAW}, ERR(EAFNOSUPPORT), "AF_PACKET"},
    {SYS_socket, {AF_VSOCK, SOCK_STREAM}, ERR(EAFNOSUPPORT), "AF_VSOCK"},
    {SYS_socket, {AF_ALG, SOCK_SEQPACKET}, ERR(EAFNOSUPPORT), "AF_ALG"},
    {SYS_socket, {AF_RXRPC, SOCK_DGRAM}, ERR(EAFNOSUPPORT), "AF_RXRPC"},
    {SYS_socket, {AF_BLUETOOTH, SOCK_RAW}, ERR(EAFNOSUPPORT), "AF_BLUETOOTH"},
    {SYS_socketpair, {AF_UNIX, SOCK_STREAM}, ALLOW, "a pair of Unix sockets"},
    {SYS_socketpair, {AF_TIPC, SOCK_STREAM}, ERR(EAFNOSUPPORT), "a pair of others"},
    {SYS_ioctl, {1, TCGETS}, ALLOW, "isatty"},
    {SYS_ioctl, {1, TIOCGWINSZ}, ALLOW, "window size"},
    {SYS_ioctl, {1, FIONREAD}, ALLOW, "FIONREAD"},
    {SYS_ioctl, {1, FIONBIO}, ALLOW, "FIONBIO"},
    {SYS_ioctl, {1, FIOCLEX}, ALLOW, "FIOCLEX"},
    {SYS_ioctl, {1, FIONCLEX}, ALLOW, "FIONCLEX"},
    {SYS_ioctl, {1, GARBAGE | FIONREAD}, ALLOW, "Linux looks at the low half, and so do we"},
    {SYS_ioctl, {1, TIOCSTI}, ERR(ENOTTY), "typing into a terminal"},
    {SYS_ioctl, {1, GARBAGE | TIOCSTI}, ERR(ENOTTY), "the same, with garbage in the high half"},
    {SYS_ioctl, {1, TIOCLINUX}, ERR(ENOTTY), "TIOCLINUX"},
    {SYS_prctl, {PR_SET_NAME}, ALLOW, "a name"},
    {SYS_prctl, {PR_SET_PDEATHSIG, SIGKILL}, ALLOW, "parent death signal"},
    {SYS_prctl, {PR_SET_VMA}, ALLOW, "names of mappings"},
    {SYS_prctl, {PR_SET_SECCOMP, 2}, ERR(EINVAL), "a filter of its own"},
    {SYS_prctl, {PR_SET_MM}, ERR(EINVAL), "PR_SET_MM"},
    {SYS_prctl, {PR_SET_PTRACER, ~0ULL}, ERR(EINVAL), "PR_SET_PTRACER"},
    {SYS_prctl, {PR_SET_CHILD_SUBREAPER, 1}, ERR(EINVAL), "orphans belong to the sandbox's pid 1"},
    {SYS_prctl, {PR_SET_SYSCALL_USER_DISPATCH, 1}, ERR(EINVAL), "it would take our own calls away"},
    {SYS_prctl, {PR_SET_SECUREBITS, 0}, ERR(EINVAL), "PR_SET_SECUREBITS"},
    {SYS_mknod, {0, S_IFIFO | 0600}, ALLOW, "a FIFO"},
    {SYS_mknod, {0, S_IFREG | 0600}, ALLOW, "a file"},
    {SYS_mknod, {0, 0600}, ALLOW, "a file, as mode 0 says"},
    {SYS_mknod, {0, S_IFCHR | 0600, 0}, ERR(EPERM), "a whiteout"},
    {SYS_mknod, {0, S_IFBLK | 0600, 0}, ERR(EPERM), "a block device"},
    {SYS_mknod, {0, S_IFSOCK | 0600, 0}, ERR(EPERM), "a socket without one who listens"},
    {SYS_mknodat, {0, 0, S_IFIFO | 0600}, ALLOW, "a FIFO"},
    {SYS_mknodat, {0, 0, S_IFCHR | 0600, 0}, ERR(EPERM), "a whiteout"},
    {SYS_personality, {0xffffffff}, ALLOW, "asking for the personality"},
    {SYS_personality, {0x0040000}, ERR(EPERM), "ADDR_NO_RANDOMIZE"},
    {SYS_io_uring_setup, {0}, ERR(ENOSYS), "io_uring"},
    {SYS_fsopen, {0}, ERR(ENOSYS), "the new mount API"},
    {SYS_open_tree, {0}, ERR(ENOSYS), "the new mount API"},
    {SYS_seccomp, {SECCOMP_SET_MODE_FILTER}, ERR(ENOSYS), "a filter of its own"},
    {447, {0}, ERR(ENOSYS), "memfd_secret"},
    {SYS_mbind, {0}, ERR(EPERM), "numa"},
    {SYS_set_mempolicy, {0}, ERR(EPERM), "numa"},
    {SYS_get_mempolicy, {0}, ALLOW, "numa, asking"},
    {SYS_mount, {0}, ERR(EPERM), "mount"},
    {SYS_ptrace, {0}, ERR(EPERM), "ptrace"},
    {SYS_process_vm_readv, {0}, ERR(EPERM), "another's memory"},
    {SYS_process_vm_writev, {0}, ERR(EPERM), "another's memory"},
    {SYS_bpf, {0}, ERR(EPERM), "bpf"},
    {SYS_keyctl, {0}, ERR(EPERM), "keyctl"},
    {SYS_perf_event_open, {0}, ERR(EPERM), "perf"},
    {SYS_userfaultfd, {0}, ERR(EPERM), "userfaultfd"},
    {SYS_setresuid, {0}, ERR(EPERM), "another user"},
    {SYS_setgroups, {0}, ERR(EPERM), "other groups"},
    {SYS_pidfd_getfd, {0}, ERR(EPERM), "another's descriptors"},
    {SYS_sigaltstack, {0}, ALLOW, "Rust"},
    {SYS_rseq, {0}, ALLOW, "glibc"},
    {SYS_set_robust_list, {0}, ALLOW, "glibc"},
    {SYS_membarrier, {0}, ALLOW, "OpenMP"},
    {SYS_memfd_create, {0}, ALLOW, "memfd, where nobody can be told"},
    {SYS_memfd_create, {0, MFD_CLOEXEC, FILTER_OURS}, TRACE, "memory that is ours to make"},
    {SYS_memfd_create, {0, MFD_HUGETLB, FILTER_OURS}, ERR(EINVAL), "and never in huge pages"},
    {SYS_vmsplice, {0}, ERR(ENOSYS), "pages held by a pipe"},
    {SYS_memfd_create, {0, MFD_HUGETLB | MFD_CLOEXEC}, ERR(EINVAL), "the host's huge pages"},
    {SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS}, ALLOW, "memory"},
    {SYS_mmap, {0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB}, ERR(ENOMEM), "the host's huge pages"},
    {SYS_madvise, {0, 4096, MADV_DONTNEED}, ALLOW, "free(3)"},
    {SYS_madvise, {0, 4096, MADV_HUGEPAGE}, ALLOW, "huge pages of its own"},
    {SYS_madvise, {0, 4096, MADV_MERGEABLE}, ERR(EINVAL), "merging pages with others'"},
    {SYS_madvise, {0, 4096, MADV_PAGEOUT}, ERR(EINVAL), "emptying the host's page cache"},
    {SYS_fcntl, {3, F_GETFL}, ALLOW, "flags"},
    {SYS_fcntl, {3, F_SETFD}, ALLOW, "close-on-exec"},
    {SYS_fcntl, {3, F_SETLKW}, ALLOW, "a lock"},
    {SYS_fcntl, {3, F_OFD_SETLKW}, ALLOW, "a lock of an open file"},
    {SYS_fcntl, {3, F_DUPFD_CLOEXEC}, ALLOW, "a copy"},
    {SYS_fcntl, {3, F_ADD_SEALS}, ALLOW, "seals"},
    {SYS_fcntl, {3, F_GETPIPE_SZ}, ALLOW, "asking for a pipe's size"},
    {SYS_fcntl, {3, F_SETPIPE_SZ}, NOTHING, "a larger pipe"},
    {SYS_fcntl, {3, GARBAGE | F_SETPIPE_SZ}, NOTHING, "the same, with garbage in the high half"},
    {SYS_fcntl, {3, F_SETLEASE}, ERR(EINVAL), "a lease"},
    {SYS_fcntl, {3, F_NOTIFY}, ERR(EINVAL), "dnotify"},
    {SYS_fcntl, {3, 2000}, ERR(EINVAL), "a command to come"},
    {SYS_fcntl, {3, 0x80000000}, ERR(EINVAL), "a negative command"},
    {SYS_sync, {0}, NOTHING, "flushing all disks"},
    {SYS_syncfs, {3}, NOTHING, "flushing a disk"},
    {SYS_fsync, {3}, ALLOW, "flushing a file, which is in memory or an overlay's"},
    {SYS_msync, {0, 4096, MS_SYNC}, NOTHING, "flushing what is mapped"},
    {SYS_msync, {0, 4096, MS_SYNC | MS_INVALIDATE}, NOTHING, "the same"},
    {SYS_msync, {0, 4096, MS_ASYNC}, ALLOW, "asking whether memory is there"},
    {SYS_fadvise64, {3, 0, 0, POSIX_FADV_SEQUENTIAL}, ALLOW, "advice"},
    {SYS_fadvise64, {3, 0, 0, POSIX_FADV_DONTNEED}, NOTHING, "emptying the host's page cache"},
    {SYS_preadv2, {3, 1, 1, 0, 0, 0}, ALLOW, "os.preadv"},
    {SYS_preadv2, {3, 1, 1, 0, 0, RWF_NOWAIT | RWF_HIPRI}, ERR(EOPNOTSUPP), "a look at the page cache"},
    {SYS_mincore, {0, 4096, 1}, ERR(ENOSYS), "a look at the page cache"},
    {451, {3, 1, 1}, ERR(ENOSYS), "cachestat"},
    {SYS_inotify_init1, {0}, ERR(ENOSYS), "inotify"},
    {SYS_mq_open, {1}, ERR(ENOSYS), "a message queue"},
    {SYS_sched_setscheduler, {0, SCHED_NORMAL}, ALLOW, "what every thread has; libzmq aborts where it is refused"},
    {SYS_sched_setscheduler, {0, SCHED_NORMAL | SCHED_RESET_ON_FORK}, ALLOW, "the same, for children too"},
    {SYS_sched_setscheduler, {0, SCHED_BATCH}, NOTHING, "a lower priority"},
    {SYS_sched_setscheduler, {0, SCHED_IDLE | SCHED_RESET_ON_FORK}, NOTHING, "the lowest priority"},
    {SYS_sched_setscheduler, {0, SCHED_FIFO}, ERR(EPERM), "real time"},
    {SYS_sched_setscheduler, {0, SCHED_RR}, ERR(EPERM), "real time"},
    {SYS_sched_setscheduler, {0, SCHED_FIFO | SCHED_RESET_ON_FORK}, ERR(EPERM), "the flag hides nothing"},
    {SYS_sched_setscheduler, {0, GARBAGE | SCHED_RR}, ERR(EPERM), "the high half hides nothing"},
    {SYS_sched_setscheduler, {0, SCHED_DEADLINE}, ERR(EPERM), "deadlines"},
    {SYS_sched_setscheduler, {0, 0x80000000}, ERR(EPERM), "a negative policy"},
    {SYS_sched_setparam, {0}, ALLOW, "it keeps the policy"},
    {SYS_sched_setattr, {0}, ERR(ENOSYS), "a policy that stands in memory"},
    {SYS_sched_setaffinity, {0}, ERR(EPERM), "other processors"},
    {SYS_ioprio_set, {1, 0, 0}, NOTHING, "no I/O priority"},
    {SYS_ioprio_set, {1, 0, 1 << 13}, ERR(EPERM), "real time"},
    {SYS_ioprio_set, {1, 0, GARBAGE | 1 << 13 | 7}, ERR(EPERM), "the high half hides nothing"},
    {SYS_ioprio_set, {1, 0, 2 << 13 | 4}, NOTHING, "the usual I/O priority"},
    {SYS_ioprio_set, {1, 0, 3 << 13 | 7}, NOTHING, "ionice -c idle"},
    {SYS_ioprio_set, {1, 0, 4 << 13}, ERR(EPERM), "a class to come"},
    {SYS_setxattr, {1}, ERR(EOPNOTSUPP), "an extended attribute"},
    {SYS_fremovexattr, {1}, ERR(EOPNOTSUPP), "an extended attribute"},
    {SYS_fgetxattr, {1}, ALLOW, "an extended attribute that the host's file has"},
    {335, {0}, ERR(ENOSYS), "a gap in the numbers"},
    {1000, {0}, ERR(ENOSYS), "a number to come"},
    {0x3fffffff, {0}, ERR(ENOSYS), "the last number that is not x32's"},
    {0x40000000, {0}, SECCOMP_RET_KILL_PROCESS, "x32 read"},
    {0x40000000 | SYS_execve, {0}, SECCOMP_RET_KILL_PROCESS, "x32 execve"},
};

/* Where refused calls are told, so are these, which may go on. */
static const struct {
    int number;
    uint64_t argument[6];
    bool is_told;
    const char *what;
} told[] = {
    {SYS_connect, {3, 1, 16}, true, "connect"},
    {SYS_sendto, {3, 1, 1, 0, 0x7fff0000, 16}, true, "sendto with an address"},
    {SYS_sendto, {3, 1, 1, 0, 0, 0}, false, "send"},
    {SYS_write, {0}, false, "write"},
};

static int compile(void **state) {
    static struct filter filter;
    *state = &filter;
    return filter_compile(SECCOMP_RET_ERRNO, &filter);
}

static int release(void **state) {
    filter_fini(*state);
    return 0;
}

static bool is_newer(const char *name) {
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++)
        if (strcmp(newer[i], name) == 0)
            return true;
    return false;
}

static void test_table_rows_of_one_call_stand_together(void **state) {
    (void)state;
    for (size_t i = 1; i < filter_n_rows; i++) {
        if (strcmp(filter_rows[i].name, filter_rows[i - 1].name) == 0)
            continue;
        for (size_t j = 0; j + 1 < i; j++)
            if (strcmp(filter_rows[i].name, filter_rows[j].name) == 0)
                fail_msg("%s stands in two places", filter_rows[i].name);
    }
}

static void test_table_only_the_last_row_of_a_call_has_no_test(void **state) {
    (void)state;
    for (size_t i = 0; i < filter_n_rows; i++) {
        const struct filter_row *row = &filter_rows[i], *next = row + 1;
        bool last = i + 1 == filter_n_rows || strcmp(row->name, next->name) != 0;
        if (last && row->test.mask)
            fail_msg("%s: what is no test's is undecided", row->name);
        if (!last && !row->test.mask)
            fail_msg("%s: a row that can't be reached", row->name);
    }
}

static void test_table_rows_have_a_valid_errno_and_a_reason(void **state) {
    (void)state;
    for (size_t i = 0; i < filter_n_rows; i++) {
        const struct filter_row *row = &filter_rows[i];
        bool answers = row->kind == FILTER_ERRNO || row->kind == FILTER_DENY;
        if (answers != (row->err > 0) || row->err > 133)
            fail_msg("%s: errno %d", row->name, row->err);
        if (row->kind != FILTER_ALLOW && !row->why[0])
            fail_msg("%s: no reason given", row->name);
        if (row->test.argument < 0 || row->test.argument > 5 || (row->test.value & ~row->test.mask))
            fail_msg("%s: a test that can't match", row->name);
    }
}

static void test_table_names_are_those_of_system_calls(void **state) {
    (void)state;
    for (size_t i = 0; i < filter_n_rows; i++)
        if (seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, filter_rows[i].name) < 0 &&
            !is_newer(filter_rows[i].name))
            fail_msg("%s: no such system call", filter_rows[i].name);
}

static void test_calls_get_the_expected_verdicts(void **state) {
    for (size_t i = 0; i < sizeof verdicts / sizeof verdicts[0]; i++) {
        uint32_t got = filter_simulate(*state, AUDIT_ARCH_X86_64, verdicts[i].number, verdicts[i].argument);
        if (got != verdicts[i].verdict)
            fail_msg("%s (%d): %#x, not %#x", verdicts[i].what, verdicts[i].number, got, verdicts[i].verdict);
    }
}

static void test_foreign_architecture_is_killed(void **state) {
    static const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64, EM_X86_64, 0};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        for (int number = 0; number < 500; number++)
            assert_int_equal(filter_simulate(*state, foreign[i], number, (uint64_t[6]){0}), SECCOMP_RET_KILL_PROCESS);
}

/* The answer that the table itself gives to a call with arguments of zeros. */
static uint32_t read_table(int number, uint32_t deny_action) {
    for (size_t i = 0; i < filter_n_rows; i++) {
        const struct filter_row *row = &filter_rows[i];
        if (seccomp_syscall_resolve_name_arch(SCMP_ARCH_X86_64, row->name) != number ||
            (row->test.mask && row->test.value != 0))
            continue;
        switch (row->kind) {
        case FILTER_ALLOW:
            return ALLOW;
        case FILTER_TRACE:
            return TRACE;
        case FILTER_ERRNO:
        case FILTER_NOOP:
            return ERR((uint32_t)row->err);
        case FILTER_DENY:
            return deny_action == SECCOMP_RET_ERRNO ? ERR((uint32_t)row->err) : deny_action;
        case FILTER_NOTIFY:
            return deny_action == SECCOMP_RET_ERRNO ? ALLOW : deny_action;
        }
    }
    return ERR(ENOSYS);
}

static void check_every_number(uint32_t deny_action) {
    struct filter filter;
    assert_int_equal(filter_compile(deny_action, &filter), 0);
    for (int number = 0; number < 2000; number++) {
        uint32_t got = filter_simulate(&filter, AUDIT_ARCH_X86_64, number, (uint64_t[6]){0});
        if (got != read_table(number, deny_action))
            fail_msg("call %d: %#x, and the table says %#x", number, got, read_table(number, deny_action));
    }
    filter_fini(&filter);
}

static void test_program_answers_every_number_as_the_table_does(void **state) {
    (void)state;
    check_every_number(SECCOMP_RET_ERRNO);
}

static void test_denied_calls_become_notifications_where_requested(void **state) {
    struct filter filter;
    (void)state;
    check_every_number(SECCOMP_RET_USER_NOTIF);
    assert_int_equal(filter_compile(SECCOMP_RET_USER_NOTIF, &filter), 0);
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        uint32_t got = filter_simulate(&filter, AUDIT_ARCH_X86_64, told[i].number, told[i].argument);
        if (got != (told[i].is_told ? SECCOMP_RET_USER_NOTIF : ALLOW))
            fail_msg("%s: %#x", told[i].what, got);
    }
    filter_fini(&filter);
}

static void test_program_fits_into_scratch_memory_and_below_bpf_maxinsns(void **state) {
    const struct filter *filter = *state;
    assert_true(filter->n <= BPF_MAXINSNS);
    assert_true(filter->n * sizeof *filter->program + 16 <= INJECT_SCRATCH_BYTES);
}

static void test_program_installed_answers_as_the_table_says(void **state) {
    filter_live_check(*state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table_rows_of_one_call_stand_together),
        cmocka_unit_test(test_table_only_the_last_row_of_a_call_has_no_test),
        cmocka_unit_test(test_table_rows_have_a_valid_errno_and_a_reason),
        cmocka_unit_test(test_table_names_are_those_of_system_calls),
        cmocka_unit_test(test_calls_get_the_expected_verdicts),
        cmocka_unit_test(test_foreign_architecture_is_killed),
        cmocka_unit_test(test_program_answers_every_number_as_the_table_does),
        cmocka_unit_test(test_denied_calls_become_notifications_where_requested),
        cmocka_unit_test(test_program_fits_into_scratch_memory_and_below_bpf_maxinsns),
        cmocka_unit_test(test_program_installed_answers_as_the_table_says),
    };
    return cmocka_run_group_tests_name("filter", tests, compile, release);
}
