/*
 * tracee.c - ptrace(2) and waitpid(2) with an answer for each way in which a task may end meanwhile.
 *
 * Waiting never reaps by itself: it looks with WNOWAIT first, so a task that has
 * died is left for the caller. It has a time-out, for which SIGCHLD is blocked
 * and waited for: one that came before costs a look more, and none is missed.
 */
#define _GNU_SOURCE
#include "tracee.h"

#include "base/cleanup.h"
#include "base/slices.h"
#include "sandbox/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum {
    REAP_US = 10000,
    LOOK_US = 200,
    STEP_US = 5000
}; /* between looks at what dies, at its thread, and at what stops */

#define OPTIONS                                                                                                        \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |      \
     PTRACE_O_TRACESECCOMP)

int tracee_seize(pid_t tid) {
    if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS))
        return -errno;
    return ptrace(PTRACE_INTERRUPT, tid, 0, 0) ? -errno : 0;
}

static long now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Waits for a SIGCHLD, which is blocked; a stale one only costs a look more. */
static void await_child_signal(long us) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000});
}

int tracee_await_stop(pid_t tid, int timeout_ms, int *ret_status) {
    long deadline = now_us() + timeout_ms * 1000L;
    for (;;) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) && errno != EINTR)
            return errno == ECHILD ? -ESRCH : -errno;
        if (info.si_pid == tid) {
            if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED)
                return -ESRCH;
            return waitpid(tid, ret_status, __WALL | WNOHANG) == tid ? 0 : -ESRCH;
        }
        long left = deadline - now_us();
        if (left <= 0)
            return -ETIMEDOUT;
        slices_step();
        await_child_signal(left < STEP_US ? left : STEP_US);
    }
}

int tracee_continue(pid_t tid) {
    return ptrace(PTRACE_CONT, tid, 0, 0) ? -errno : 0;
}

int tracee_deliver(pid_t tid, int signal) {
    return ptrace(PTRACE_CONT, tid, 0, (long)signal) ? -errno : 0;
}

int tracee_continue_to_syscall(pid_t tid) {
    return ptrace(PTRACE_SYSCALL, tid, 0, 0) ? -errno : 0;
}

int tracee_get_syscall_stop(pid_t tid, struct syscall_stop *ret_stop) {
    struct __ptrace_syscall_info info = {0};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info) < 0)
        return -errno;
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY && info.op != PTRACE_SYSCALL_INFO_EXIT)
        return -EUCLEAN;
    *ret_stop = (struct syscall_stop){.is_entry = info.op == PTRACE_SYSCALL_INFO_ENTRY,
                                      .arch = info.arch,
                                      .instruction_pointer = info.instruction_pointer};
    if (ret_stop->is_entry) {
        ret_stop->number = info.entry.nr;
        memcpy(ret_stop->argument, info.entry.args, sizeof ret_stop->argument);
    } else {
        ret_stop->result = info.exit.rval;
    }
    return 0;
}

long tracee_own_code_ms(pid_t tid) {
    enum { TICKS_MAX = 1 << 30 }; /* more than a hundred days */
    struct procfs_stat stat;
    int r = process_read_stat(tid, &stat);
    if (r == -ENOENT || r == -ESRCH || (r == 0 && (stat.state == 'Z' || stat.state == 'X')))
        return -ESRCH;
    if (r || stat.user_ticks > TICKS_MAX)
        return 0;
    return (long)stat.user_ticks * 1000 / sysconf(_SC_CLK_TCK);
}

int tracee_stop_again(pid_t tid, int signal) {
    if (ptrace(PTRACE_INTERRUPT, tid, 0, 0))
        return -errno;
    return tracee_deliver(tid, signal);
}

bool tracee_is_clone(int status) {
    int event = status >> 16;
    return event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK;
}

int tracee_get_child(pid_t parent, pid_t *ret_child) {
    unsigned long message;
    if (ptrace(PTRACE_GETEVENTMSG, parent, 0, &message))
        return -errno;
    *ret_child = (pid_t)message;
    return 0;
}

int tracee_check_stopped(pid_t tid) {
    unsigned long message;
    return ptrace(PTRACE_GETEVENTMSG, tid, 0, &message) ? -errno : 0;
}

bool tracee_is_ours(pid_t tid) {
    siginfo_t info;
    return waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) == 0;
}

int tracee_let_go(pid_t tid, int timeout_ms) {
    int status, r = tracee_await_stop(tid, timeout_ms, &status);
    if (r == 0 && ptrace(PTRACE_DETACH, tid, 0, 0))
        r = -errno;
    if (r == -ESRCH)
        tracee_reap(tid);
    return r == -ESRCH ? 0 : r;
}

bool tracee_reap(pid_t tid) {
    int status;
    for (;;) {
        pid_t r = waitpid(tid, &status, __WALL | WNOHANG);
        if (r < 0 && errno != EINTR)
            return false;
        if (r == tid && !WIFSTOPPED(status))
            return true;
        if (r == 0) {
            slices_step();
            await_child_signal(LOOK_US);
        }
    }
}

/* Reaps threads of a process that dies. Whether there were any of ours. */
static bool reap_threads(pid_t pid) {
    char path[32];
    pid_t tids[256];
    size_t n = 0;
    struct dirent *entry;
    bool found = false;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    auto_dir dir = opendir(path);
    while (dir && n < sizeof tids / sizeof tids[0] && (entry = readdir(dir)))
        n += procfs_parse_id(entry->d_name, &tids[n]) && tids[n] != pid;
    while (n-- > 0)
        found |= tracee_reap(tids[n]);
    return found;
}

void tracee_reap_process(pid_t pid, int *ret_status) {
    for (;;) {
        int status;
        pid_t r = waitpid(pid, &status, __WALL | WNOHANG);
        if (r < 0 && errno != EINTR)
            return;
        if (r == pid && !WIFSTOPPED(status)) {
            if (ret_status)
                *ret_status = status;
            return;
        }
        slices_step();
        if (!reap_threads(pid))
            await_child_signal(REAP_US);
    }
}

void tracee_kill(pid_t tid) {
    kill(tid, SIGKILL);
    tracee_reap(tid);
}

/* By these, and not as a register set: of a task in 32-bit code that would be another set. */
int tracee_get_regs(pid_t tid, struct user_regs_struct *ret_regs) {
    return ptrace(PTRACE_GETREGS, tid, 0, ret_regs) ? -errno : 0;
}

int tracee_set_regs(pid_t tid, const struct user_regs_struct *regs) {
    return ptrace(PTRACE_SETREGS, tid, 0, regs) ? -errno : 0;
}

int tracee_block_signals(pid_t tid) {
    uint64_t all = ~0ULL;
    return ptrace(PTRACE_SETSIGMASK, tid, sizeof all, &all) ? -errno : 0;
}

int tracee_open_memory(pid_t pid) {
    return process_open_fd(pid, "mem", O_RDWR);
}

/* Linux says EIO of an address that nothing is mapped at. */
static int memory_error(void) {
    return errno == EIO ? -EFAULT : -errno;
}

int memory_read(int memory_fd, uint64_t address, void *buf, size_t bytes) {
    ssize_t n = pread(memory_fd, buf, bytes, (off_t)address);
    if (n < 0)
        return memory_error();
    return (size_t)n == bytes ? 0 : -EFAULT;
}

int memory_write(int memory_fd, uint64_t address, const void *buf, size_t bytes) {
    ssize_t n = pwrite(memory_fd, buf, bytes, (off_t)address);
    if (n < 0)
        return memory_error();
    return (size_t)n == bytes ? 0 : -EFAULT;
}
