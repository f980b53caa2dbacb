/*
 * threads.c - stopping, recording and restoring threads, in the order in which that is safe.
 *
 * Stop: rounds of seizing until a round finds no new thread. A thread that was
 * seized is awaited before the next round, and only a running thread can make
 * another one, so the last round has seen all. A thread that is in the middle of a
 * clone(2) finishes it first.
 *
 * Record: what ptrace tells (registers, extended state, signal mask, restartable
 * sequences), before any call is injected, because injected calls destroy the
 * registers; then, by injected calls, what only the thread itself can ask. A
 * system call that was interrupted is put back in front of its instruction.
 *
 * Restore: the other way round. Registrations first, by calls; then registers that
 * Linux has no room for before a task has used them (AMX); restartable
 * sequences after all other calls, because with them Linux may redirect the task
 * to code of the cell's; registers last. Registers are set once when they are
 * recorded, too: what can't be set then could not be set in a later cell.
 */
#define _GNU_SOURCE
#include "threads.h"

#include "base/cleanup.h"
#include "sandbox/inject/tracee.h"
#include "sandbox/process/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

/* Linux's own results of a system call that a signal has interrupted; they never reach a program. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

enum {
    XSTATE_MAX = 16384,
    STOP_MS = 2000,
    FUTEX_COMMAND = 0x7f,
    FUTEX_WAIT_BITSET_OP = 9,
    SYSCALL_BYTES = 2,
    ROBUST_LIST_BYTES = 24
};

struct rseq_configuration { /* struct ptrace_rseq_configuration, ptrace(2) */
    uint64_t address;
    uint32_t bytes;
    uint32_t signature;
    uint32_t flags;
    uint32_t pad;
};
#define GET_RSEQ_CONFIGURATION 0x420f

/* What the calls of threads_record() leave in the scratch memory. */
struct told {
    stack_t alternate_stack;
    uint64_t clear_tid;
    uint64_t extended_features;
    char name[16];
};

/* See: Documentation/arch/x86/xstate.rst. */
enum { GET_FEATURES = 0x1022, REQUEST_FEATURE = 0x1023, FIRST_ASKED_FOR = 17, LAST_ASKED_FOR = 18 };
#define ASKED_FOR (UINT64_C(1) << FIRST_ASKED_FOR | UINT64_C(1) << LAST_ASKED_FOR)

enum { XSTATE_COMPONENTS = 512 }; /* where it says which components it has. See: "XSAVE area" in Intel's manual */

void threads_fini(struct threads *threads) {
    for (size_t i = 0; i < threads->n; i++)
        free(threads->thread[i].xstate);
    free(threads->thread);
    *threads = (struct threads){0};
}

uint64_t threads_bytes(const struct threads *threads) {
    uint64_t bytes = malloc_usable_size(threads->thread);
    for (size_t i = 0; i < threads->n; i++)
        bytes += malloc_usable_size(threads->thread[i].xstate);
    return bytes;
}

/* A growing list of threads that are ours. */
struct list {
    pid_t *tids;
    size_t n, size;
};

static int list_add(struct list *list, pid_t tid) {
    if (list->n == THREADS_MAX)
        return -EOVERFLOW;
    if (list->n == list->size) {
        size_t size = list->size ? list->size * 2 : 16;
        pid_t *tids = realloc(list->tids, size * sizeof *tids);
        if (!tids)
            return -ENOMEM;
        list->tids = tids;
        list->size = size;
    }
    list->tids[list->n++] = tid;
    return 0;
}

static bool list_has(const struct list *list, pid_t tid) {
    for (size_t i = 0; i < list->n; i++)
        if (list->tids[i] == tid)
            return true;
    return false;
}

/* A zombie can't be seized, and neither can a task that has another tracer. */
static bool is_zombie(pid_t tid) {
    struct procfs_stat stat;
    int r = process_read_stat(tid, &stat);
    return r ? r != -EBADMSG : stat.state == 'Z' || stat.state == 'X';
}

/*
 * Makes a thread a tracee. 1 where it is one from now on, 0 where it is dead, or
 * -errno. One that was seized in the middle of a clone(2) has brought us another.
 */
static int seize(pid_t pid, pid_t tid) {
    int r = tracee_seize(tid);
    if (r == 0 || (r == -EPERM && tid != pid && tracee_is_ours(tid)))
        return 1;
    if (r == -EPERM && is_zombie(tid))
        r = -ESRCH;
    return r == -ESRCH && tid != pid ? 0 : r;
}

/* Seizes the threads that are new since the last round. The number of them, or -errno. */
static int seize_round(pid_t pid, struct list *list) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    auto_dir dir = opendir(path);
    struct dirent *entry;
    int found = 0;
    if (!dir)
        return -ESRCH;
    while ((entry = readdir(dir))) {
        pid_t tid;
        if (!procfs_parse_id(entry->d_name, &tid) || list_has(list, tid))
            continue;
        int r = seize(pid, tid);
        if (r > 0) {
            r = list_add(list, tid);
            found++;
        }
        if (r < 0)
            return r;
    }
    return found;
}

/* The main thread first: the order of an image's threads. */
static void put_first(struct list *list, pid_t pid) {
    for (size_t i = 1; i < list->n; i++)
        if (list->tids[i] == pid) {
            list->tids[i] = list->tids[0];
            list->tids[0] = pid;
        }
}

/* A thread is in the middle of a clone(2): its child goes its own way, unless it is a thread too. */
static int let_child_go(pid_t pid, pid_t tid) {
    pid_t child;
    int r = tracee_get_child(tid, &child);
    if (r || syscall(SYS_tgkill, pid, child, 0) == 0)
        return r;
    return tracee_let_go(child, STOP_MS);
}

/*
 * A thread may first stop for what it was in the middle of: it gets its signal,
 * or learns of its child, which would be lost to it. One that stops in front of
 * a system call that is left to us stays there.
 */
static int await_stop(pid_t pid, pid_t tid) {
    int status, r;
    while ((r = tracee_await_stop(tid, STOP_MS, &status)) == 0) {
        bool clones = tracee_is_clone(status);
        if (status >> 16 != 0 && !clones)
            return 0;
        if (clones)
            r = let_child_go(pid, tid);
        if (r == 0)
            r = tracee_stop_again(tid, clones ? 0 : WSTOPSIG(status));
        if (r)
            return r;
    }
    return r;
}

static int await_all(pid_t pid, struct list *list, size_t from) {
    for (size_t i = from; i < list->n;) {
        int r = await_stop(pid, list->tids[i]);
        if (r == -ESRCH && i > 0) {
            tracee_reap(list->tids[i]);
            list->tids[i] = list->tids[--list->n];
        }
        if (r && (r != -ESRCH || i == 0))
            return r;
        i += r == 0;
    }
    return 0;
}

int threads_stop(pid_t pid, pid_t **ret_tids, size_t *ret_n) {
    struct list list = {0};
    size_t stopped = 0;
    int r;
    while ((r = seize_round(pid, &list)) > 0) {
        if (stopped == 0)
            put_first(&list, pid);
        r = await_all(pid, &list, stopped);
        if (r)
            break;
        stopped = list.n;
    }
    *ret_tids = list.tids;
    *ret_n = list.n;
    return r;
}

static bool is_absolute_wait(const struct user_regs_struct *regs) {
    if (regs->orig_rax != SYS_futex)
        return false;
    return (regs->rsi & FUTEX_COMMAND) == FUTEX_WAIT_BITSET_OP;
}

/* A poll(2) without an end; ppoll(2) and epoll_wait(2) never get here. */
static bool is_endless_poll(const struct user_regs_struct *regs) {
    return regs->orig_rax == SYS_poll && (int)regs->rdx < 0;
}

/*
 * A thread that was stopped in a system call is put back in front of it. Where
 * the call counts a time from now on, it returns EINTR instead, as it may at
 * any signal: repeated, it would wait for all of it again.
 */
static void rewind_call(struct user_regs_struct *regs) {
    long result = (long)regs->rax;
    if ((long)regs->orig_rax < 0)
        return;
    if (result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
        (result == -ERESTART_RESTARTBLOCK && (is_absolute_wait(regs) || is_endless_poll(regs)))) {
        regs->rax = regs->orig_rax;
        regs->rip -= SYSCALL_BYTES;
    } else if (result == -ERESTART_RESTARTBLOCK) {
        regs->rax = (unsigned long long)-EINTR;
    }
    regs->orig_rax = ~0ULL;
}

static int record_xstate(pid_t tid, struct thread *thread) {
    unsigned char buf[XSTATE_MAX];
    struct iovec iov = {.iov_base = buf, .iov_len = sizeof buf};
    if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &iov))
        return -errno;
    thread->xstate = malloc(iov.iov_len);
    if (!thread->xstate)
        return -ENOMEM;
    memcpy(thread->xstate, buf, iov.iov_len);
    thread->xstate_bytes = iov.iov_len;
    return 0;
}

static int record_outside(pid_t tid, struct thread *thread) {
    struct rseq_configuration rseq = {0};
    int r = tracee_get_regs(tid, &thread->regs);
    if (r == 0)
        r = record_xstate(tid, thread);
    if (r == 0 && ptrace(PTRACE_GETSIGMASK, tid, sizeof thread->signal_mask, &thread->signal_mask))
        r = -errno;
    if (r)
        return r;
    rewind_call(&thread->regs);
    if (ptrace((enum __ptrace_request)GET_RSEQ_CONFIGURATION, tid, sizeof rseq, &rseq) > 0) {
        thread->rseq_address = rseq.address;
        thread->rseq_bytes = rseq.bytes;
        thread->rseq_signature = rseq.signature;
    }
    return syscall(SYS_get_robust_list, tid, &thread->robust_list, &thread->robust_list_bytes) ? -errno : 0;
}

/* The last of the ids in NSpid: the one that the task itself knows. */
static int read_inner_id(pid_t tid, pid_t *ret_id) {
    char buf[PROCESS_STATUS];
    struct procfs_text text;
    int r = process_read(tid, "status", buf, sizeof buf, &text);
    if (r)
        return r == -ENOENT ? -ESRCH : r;
    return procfs_find_last_id(text, "NSpid", ret_id) ? 0 : -EBADMSG;
}

/*
 * Asks, and takes back what would happen at the task's end: a robust mutex that
 * the thread holds would be marked as a dead owner's, and pthread_join(3) would
 * find the thread ended; but it goes on in the next cell.
 */
static int record_inside(pid_t tid, int memory_fd, const struct inject_area *area, struct thread *thread,
                         uint64_t *ret_features) {
    uint64_t scratch = area->scratch;
    struct inject_task task = {tid, thread->tid, memory_fd, area};
    struct inject_call calls[] = {
        {.number = SYS_sigaltstack, .argument = {0, scratch + offsetof(struct told, alternate_stack)}},
        {.number = SYS_prctl, .argument = {PR_GET_TID_ADDRESS, scratch + offsetof(struct told, clear_tid)}},
        {.number = SYS_prctl, .argument = {PR_GET_NAME, scratch + offsetof(struct told, name)}},
        {.number = SYS_set_tid_address, .argument = {0}},
        {.number = SYS_set_robust_list, .argument = {0, ROBUST_LIST_BYTES}},
        {.number = SYS_arch_prctl, .argument = {GET_FEATURES, scratch + offsetof(struct told, extended_features)}},
    };
    enum { N = sizeof calls / sizeof calls[0] };
    struct told told;
    int r = inject_batch(&task, calls, N);
    if (r == 0)
        r = inject_failure(calls, N - 1, NULL); /* Linux has the last since 5.16 */
    if (r == 0)
        r = memory_read(memory_fd, scratch, &told, sizeof told);
    if (r)
        return r;
    *ret_features = calls[N - 1].result == 0 ? told.extended_features : 0;
    thread->alternate_stack = told.alternate_stack;
    thread->clear_tid = told.clear_tid;
    memcpy(thread->name, told.name, sizeof thread->name);
    thread->name[sizeof thread->name - 1] = 0;
    return 0;
}

int threads_record_registers(const pid_t *tids, size_t n, struct threads *ret) {
    struct threads threads = {.thread = calloc(n, sizeof *threads.thread)};
    int r = threads.thread ? 0 : -ENOMEM;
    for (size_t i = 0; r == 0 && i < n; i++) {
        threads.n = i + 1;
        r = read_inner_id(tids[i], &threads.thread[i].tid);
        if (r == 0)
            r = record_outside(tids[i], &threads.thread[i]);
        if (r == 0 && thread_restore_registers(&threads.thread[i], tids[i]))
            r = -EUCLEAN; /* what can't be set now can't be set in a later cell either, and then there is none */
    }
    if (r)
        threads_fini(&threads);
    else
        *ret = threads;
    return r;
}

int threads_record_registrations(const pid_t *tids, int memory_fd, const struct inject_area *area,
                                 struct threads *threads) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < threads->n; i++)
        r = record_inside(tids[i], memory_fd, area, &threads->thread[i], &threads->extended_features);
    return r;
}

size_t thread_restore_calls(const struct thread *thread, int memory_fd, uint64_t scratch, struct inject_call *calls) {
    struct told told = {.alternate_stack = thread->alternate_stack};
    size_t n = 0;
    memcpy(told.name, thread->name, sizeof told.name);
    told.alternate_stack.ss_flags &= ~SS_ONSTACK;
    if (memory_write(memory_fd, scratch, &told, sizeof told))
        return 0;
    if (thread->robust_list)
        calls[n++] = (struct inject_call){.number = SYS_set_robust_list,
                                          .argument = {thread->robust_list, thread->robust_list_bytes}};
    if (!(thread->alternate_stack.ss_flags & SS_DISABLE))
        calls[n++] = (struct inject_call){.number = SYS_sigaltstack,
                                          .argument = {scratch + offsetof(struct told, alternate_stack), 0}};
    calls[n++] =
        (struct inject_call){.number = SYS_prctl, .argument = {PR_SET_NAME, scratch + offsetof(struct told, name)}};
    return n;
}

int threads_request_features(const struct threads *threads, const struct inject_task *task) {
    int r = 0;
    for (uint64_t i = FIRST_ASKED_FOR; r == 0 && i <= LAST_ASKED_FOR; i++) {
        struct inject_call call = {.number = SYS_arch_prctl, .argument = {REQUEST_FEATURE, i}};
        if (threads->extended_features & UINT64_C(1) << i)
            r = inject_batch(task, &call, 1); /* where it isn't granted, thread_load_features() fails */
    }
    return r;
}

int thread_load_features(const struct thread *thread, const struct inject_task *task) {
    uint64_t components = 0;
    if (thread->xstate_bytes >= XSTATE_COMPONENTS + sizeof components)
        memcpy(&components, (const char *)thread->xstate + XSTATE_COMPONENTS, sizeof components);
    components &= ASKED_FOR;
    return components ? inject_load(task, thread->xstate, thread->xstate_bytes, components) : 0;
}

int thread_restore_rseq(const struct thread *thread, const struct inject_task *task) {
    struct inject_call call = {.number = SYS_rseq,
                               .argument = {thread->rseq_address, thread->rseq_bytes, 0, thread->rseq_signature}};
    return thread->rseq_address ? inject_checked(task, &call, NULL, NULL) : 0;
}

int thread_restore_registers(const struct thread *thread, pid_t tid) {
    struct iovec iov = {.iov_base = thread->xstate, .iov_len = thread->xstate_bytes};
    if (ptrace(PTRACE_SETREGSET, tid, NT_X86_XSTATE, &iov))
        return -errno;
    int r = tracee_set_regs(tid, &thread->regs);
    if (r == 0 && ptrace(PTRACE_SETSIGMASK, tid, sizeof thread->signal_mask, &thread->signal_mask))
        r = -errno;
    return r;
}
